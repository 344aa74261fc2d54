// bf16 rounds to nearest even and keeps its special values; every dtype has a name and a size.
#include "attend/base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace attend {
namespace {

TEST(Bf16, KeepsWhatItCanHold) {
  for (const float value : {0.0f, -0.0f, 1.0f, -2.0f, 0.15625f, 65536.0f}) {
    EXPECT_EQ(static_cast<float>(Bf16(value)), value);
    EXPECT_EQ(std::signbit(static_cast<float>(Bf16(value))), std::signbit(value));
  }
  EXPECT_EQ(static_cast<float>(Bf16(std::numeric_limits<float>::infinity())), std::numeric_limits<float>::infinity());
}

TEST(Bf16, RoundsToNearestEven) {
  const float step = 1.0f / 128;                                           // between neighbours just above 1
  EXPECT_EQ(static_cast<float>(Bf16(1 + step / 2)), 1.0f);                 // a tie: the even one below
  EXPECT_EQ(static_cast<float>(Bf16(1 + step + step / 2)), 1 + 2 * step);  // a tie: the even one above
  EXPECT_EQ(static_cast<float>(Bf16(1 + step * 0.51f)), 1 + step);
  EXPECT_EQ(static_cast<float>(Bf16(1 + step * 0.49f)), 1.0f);
  EXPECT_EQ(static_cast<float>(Bf16(-1 - step / 2)), -1.0f);
}

TEST(Bf16, OverflowsToInfinityAndKeepsNan) {
  EXPECT_TRUE(std::isinf(static_cast<float>(Bf16(std::numeric_limits<float>::max()))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Bf16(std::numeric_limits<float>::quiet_NaN()))));
  // A NaN whose payload lies only in the lower half must not turn into infinity.
  EXPECT_TRUE(std::isnan(static_cast<float>(Bf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(DType, NamesAndSizes) {
  EXPECT_EQ(bytes_of(DType::f32), 4u);
  EXPECT_EQ(bytes_of(DType::bf16), 2u);
  EXPECT_EQ(bytes_of(DType::i32), 4u);
  EXPECT_EQ(bytes_of(DType::i8), 1u);
  EXPECT_EQ(bytes_of(DType::u8), 1u);
  EXPECT_EQ(std::string(name_of(DType::bf16)), "bf16");
  EXPECT_EQ(dtype_of<Bf16>, DType::bf16);
  EXPECT_TRUE(is_float(DType::bf16));
  EXPECT_FALSE(is_float(DType::i32));
}

}  // namespace
}  // namespace attend
