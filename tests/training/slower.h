// How many times as long everything takes in this build.
#pragma once

#include <cstdint>

namespace attend::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr std::int64_t kSlower = 6;
#else
inline constexpr std::int64_t kSlower = 1;
#endif

}  // namespace attend::test
