// The devices the tests run on, opened once per process.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/backends.h"
#include "tests/ops/cases.h"

namespace attend::test {

Backend& cpu();
// Plain f32 products even where the machine has matrix units.
Backend& exact_cpu();
Backend* cuda();  // null where there is none; no_cuda() says why
std::string no_cuda();

// "linear_3_17_to_33_bias", for gtest.
inline std::string name_of_case(const testing::TestParamInfo<const Case*>& info) { return info.param->name; }
// A case in a message is its name.
inline void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

// Pointers into test_cases(), as a test's parameters.
std::vector<const Case*> every_case();

inline constexpr DType kFloats[] = {DType::f32, DType::bf16};

}  // namespace attend::test
