// How many times as long everything takes in this build.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace attend::test {

#if defined(ATTEND_ASAN)  // cmake/flags.cmake
inline constexpr std::int64_t kSlower = 6;
#else
inline constexpr std::int64_t kSlower = 1;
#endif

// A test that learns runs all of its code under ASan in an eighth of the steps; how well it learned is asked as built
// for release (if (kLearns) ..), and everywhere where ATTEND_FULL is set (make test-long sets it).
inline const bool kLearns = kSlower == 1 || std::getenv("ATTEND_FULL") != nullptr;
inline std::string steps_to_learn(int steps) { return std::to_string(kLearns ? steps : std::max(1, steps / 8)); }

}  // namespace attend::test
