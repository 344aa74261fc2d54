// Slices in the names of expected.safetensors, as NumPy understands them.
#include "attend/verify/expected_name.h"

#include <gtest/gtest.h>

#include <vector>

#include "attend/base/error.h"

namespace attend::test {
namespace {

using verify::parse_expected_name;

TEST(ExpectedName, AWholeTensor) {
  const verify::ExpectedName name = parse_expected_name("hidden.12", "f");
  EXPECT_EQ(name.tensor, "hidden.12");
  EXPECT_TRUE(name.ranges.empty());
  EXPECT_EQ(verify::sliced({2, 3}, name), Shape({2, 3}));
}

// numpy: a = arange(24).reshape(2, 3, 4); a[:, ::2, 1:4:2].ravel() -> [1 3 9 11 13 15 21 23]
TEST(ExpectedName, ASlice) {
  const verify::ExpectedName name = parse_expected_name("x.0[:, ::2, 1:4:2]", "f");
  EXPECT_EQ(name.tensor, "x.0");
  EXPECT_EQ(verify::sliced({2, 3, 4}, name), Shape({2, 2, 2}));
  EXPECT_EQ(verify::slice_indices({2, 3, 4}, name), (std::vector<std::size_t>{1, 3, 9, 11, 13, 15, 21, 23}));
  EXPECT_EQ(verify::sliced({1, 887, 50265}, parse_expected_name("l[:, ::41, ::997]", "f")), Shape({1, 22, 51}));
  EXPECT_EQ(verify::sliced({5}, parse_expected_name("l[7:]", "f")), Shape({0}));
}

TEST(ExpectedName, WhatIsNone) {
  for (const char* wrong :
       {"x[", "x[]", "x[3]", "x[::0]", "x[::-1]", "x[:,]b", "x[-2:]", "x[:, 1.5:]", "x[:99999999999999999999]"})
    EXPECT_THROW(parse_expected_name(wrong, "f"), Error) << wrong;
  EXPECT_THROW(verify::sliced({2, 3}, parse_expected_name("x[:]", "f")), Error);
}

}  // namespace
}  // namespace attend::test
