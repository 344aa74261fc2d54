// Products of 8-bit floats: what a number is rounded to, both ways round; and a layer that learns in them, against the
// same layer in double. Only on a GPU that has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attend/ops/linear.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/products8.h"
#include "tests/ops/compare.h"
#include "tests/ops/devices.h"
#include "tests/ops/runner.h"

namespace attend::test {
namespace {

class LinearFp8 : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda()) GTEST_SKIP() << no_cuda();
    if (!cuda()->has_products8()) GTEST_SKIP() << "the GPU has no products of 8-bit floats";
  }
  static Units8 units(Float8 format, float unit) {
    Units8 units{make_tensor(*cuda(), {1, 4}, DType::f32), format};
    upload(units.scale, std::vector<float>{unit, 0, largest_of(format), 0});
    return units;
  }
};

std::vector<std::uint8_t> bytes_of_tensor(const Tensor& x) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(x.size()));
  x.backend().to_host(bytes.data(), x.raw(), bytes.size());
  return bytes;
}

// The value of an 8-bit float by its definition: sign, exponent, mantissa, subnormals below the smallest exponent.
double value_of(std::uint8_t bits, Float8 format) {
  const int mantissa_bits = format == Float8::e4m3 ? 3 : 2, bias = format == Float8::e4m3 ? 7 : 15;
  const int exponent = (bits & 0x7f) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits & 0x80 ? -size : size;
}

TEST_F(LinearFp8, CastsToTheNearest) {
  for (const Float8 format : {Float8::e4m3, Float8::e5m2})
    for (const auto& [rows, columns] : {std::pair{16, 16}, {48, 80}, {144, 64}, {272, 208}}) {
      const float unit = 0.25f;
      Array x({rows, columns});
      for (std::int64_t i = 0; i < x.size(); ++i)  // from 2^-20 to beyond the format's end, exact in bf16
        x[i] = (i % 3 ? 1 : -1) * std::ldexp(1 + (i % 5) / 8.0, static_cast<int>(i % 40) - 20);
      const Units8 given = units(format, unit);
      const Tensor from = to_tensor(*cuda(), x, DType::bf16);
      const Tensor y = make_tensor(*cuda(), {rows, columns}, DType::u8);
      const Tensor transposed = make_tensor(*cuda(), {columns, rows}, DType::u8);
      cuda()->cast8(from, given, y, transposed);
      const auto got = bytes_of_tensor(y), turned = bytes_of_tensor(transposed);
      double largest = 0;
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
          const double wanted = x(r, c) / unit, top = largest_of(format);
          largest = std::max(largest, std::abs(x(r, c)));
          const std::uint8_t bits = got[static_cast<std::size_t>(r * columns + c)];
          ASSERT_EQ(bits, turned[static_cast<std::size_t>(c * rows + r)]);
          if (std::abs(wanted) >= top) {
            ASSERT_EQ(std::abs(value_of(bits, format)), top);
            continue;
          }
          // No neighbour is nearer.
          const double error = std::abs(value_of(bits, format) - wanted);
          for (int step : {-1, 1})
            ASSERT_LE(error, std::abs(value_of(static_cast<std::uint8_t>(bits + step), format) - wanted))
                << wanted << " became " << value_of(bits, format);
        }
      EXPECT_EQ(download(given.scale)[1], static_cast<float>(largest));
      // What was seen decides the next unit, with room to double.
      cuda()->next_units8(given.scale);
      EXPECT_EQ(download(given.scale),
                (std::vector<float>{2 * static_cast<float>(largest) / largest_of(format), 0, largest_of(format), 0}));
    }
}

// The root of the mean square of the differences, as a share of that of the values.
double error_of(const std::vector<float>& got, const Array& want) {
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < want.size(); ++i) {
    error += std::pow(static_cast<double>(got[static_cast<std::size_t>(i)]) - want[i], 2);
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

TEST_F(LinearFp8, LearnsAsInMoreBits) {
  constexpr std::int64_t kRows = 160, kIn = 128, kOut = 192;
  const auto pattern = [](const Shape& shape, double scale) {
    Array values(shape);
    for (std::int64_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(
          static_cast<float>(Bf16(static_cast<float>(scale * std::sin(0.37 * static_cast<double>(i * i % 1009))))));
    return values;
  };
  const Array x = pattern({kRows, kIn}, 3), dy = pattern({kRows, kOut}, 1e-4), bias = pattern({kOut}, 1);
  for (bool input_major : {false, true}) {
    const Array weight = pattern(input_major ? Shape{kIn, kOut} : Shape{kOut, kIn}, 0.1);
    const auto w = [&](std::int64_t i, std::int64_t o) { return input_major ? weight(i, o) : weight(o, i); };
    Array y({kRows, kOut}), dx({kRows, kIn}), dweight(weight.shape), dbias({kOut});
    for (std::int64_t r = 0; r < kRows; ++r)
      for (std::int64_t o = 0; o < kOut; ++o) {
        y(r, o) = bias(o), dbias(o) += dy(r, o);
        for (std::int64_t i = 0; i < kIn; ++i) {
          y(r, o) += x(r, i) * w(i, o);
          dx(r, i) += dy(r, o) * w(i, o);
          (input_major ? dweight(i, o) : dweight(o, i)) += x(r, i) * dy(r, o);
        }
      }
    Pass pass(*cuda(), {.recording = true});
    const Tensor xs = pass.variable(to_tensor(*cuda(), x, DType::bf16));
    const Tensor weights = pass.variable(to_tensor(*cuda(), weight, DType::bf16));
    const Tensor biases = pass.variable(to_tensor(*cuda(), bias, DType::bf16));
    auto products = std::make_shared<Products8>();
    products->x.scale = units(Float8::e4m3, 6 / 448.0f).scale;
    products->weight.scale = units(Float8::e4m3, 0.2f / 448).scale;
    products->dy.scale = units(Float8::e5m2, 0x1p-24f).scale;
    weights.storage()->products8 = products;
    const Tensor result = ops::linear(xs, weights, biases, {.input_major = input_major});
    pass.backward(result, to_tensor(*cuda(), dy, DType::bf16));
    EXPECT_GT(download(products->dy.scale)[1], 0.0f) << "the product was not made of 8-bit floats";
    // Rounding is off by up to 1/16 of an e4m3 and 1/8 of an e5m2, evenly: 0.036 and 0.072 in the mean square, so
    // 0.051 for a product of two of the former and 0.081 with one of the latter.
    EXPECT_NEAR(error_of(download(result), y), 0.04, 0.02);
    EXPECT_NEAR(error_of(download(gradient_of(xs)), dx), 0.06, 0.03);
    EXPECT_NEAR(error_of(download(gradient_of(weights)), dweight), 0.06, 0.03);
    EXPECT_LT(error_of(download(gradient_of(biases)), dbias), 0.01);
  }
}

}  // namespace
}  // namespace attend::test
