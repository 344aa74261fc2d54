// Products with weights packed once at load, as f32, bf16 and int8, against loops in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "attend/base/random.h"
#include "attend/cpu/gemm.h"
#include "tests/cpu/gemm_buffer.h"

namespace attend::cpu {
namespace {

using test::Buffer;

// f32 error from the size of the products; bf16 from rounding both sides to 8 bits; int8 from both scales.
TEST(PackedGemm, AgainstLoops) {
  ThreadPool one(1), three(3);
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {1, 40, 70}, {3, 33, 64}, {8, 100, 300}, {17, 65, 129}, {70, 50, 1500}, {7, 150, 0}})
    for (const DType as : {DType::f32, DType::bf16, DType::i8})
      for (int variant = 0; variant < 4; ++variant) {
        const bool transposed = (variant & 1) != 0;
        const Precision precision = (variant & 2) != 0 ? Precision::exact : Precision::split;
        SCOPED_TRACE(fmt::format("{} x {} x {} as {} variant {}", m, n, k, name_of(as), variant));
        Buffer a(m, k, variant == 3 ? DType::bf16 : DType::f32, 1), bias(1, n, DType::f32, 5, 0);
        Buffer w(transposed ? k : n, transposed ? n : k, variant == 2 ? DType::bf16 : DType::f32, 2);
        Buffer c1(m, n, DType::f32, 3), c3(m, n, DType::f32, 3);
        const PackedWeights weights =
            PackedWeights::pack({w.data(), w.dtype, w.stride, transposed}, n, k, as, precision, three);
        PackedGemm g{.m = m, .a = a.data(), .a_dtype = a.dtype, .a_stride = a.stride, .weights = &weights, .out = {}};
        g.out.c_stride = c1.stride, g.out.bias = bias.data(), g.out.activation = Activation::relu;
        g.out.c = c1.data();
        gemm_packed(g, one);
        g.out.c = c3.data();
        gemm_packed(g, three);
        ASSERT_EQ(std::memcmp(c1.bytes.data(), c3.bytes.data(), c1.bytes.size()), 0);
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = bias.at(0, j), size = 0, square_a = 0, square_w = 0, most_a = 0, most_w = 0;
            for (std::int64_t x = 0; x < k; ++x) {
              const double u = a.at(i, x), v = transposed ? w.at(x, j) : w.at(j, x);
              sum += u * v, size += std::abs(u * v), square_a += u * u, square_w += v * v;
              most_a = std::max(most_a, std::abs(u)), most_w = std::max(most_w, std::abs(v));
            }
            // int8: rounding errors of half a step on either side, independent: six standard deviations.
            const double step_a = most_a / 127, step_w = most_w / 127;
            const double int8 =
                6 / std::sqrt(12.0) * std::sqrt(step_a * step_a * square_w + step_w * step_w * square_a);
            const double bound =
                as == DType::f32 ? 6e-6 * size
                : as == DType::bf16
                    ? 6.0 / 512 * std::sqrt(square_a * square_w / std::max(1.0, static_cast<double>(k))) * 1.5
                    : int8;
            ASSERT_NEAR(c1.now(i, j), std::max(0.0, sum), bound + 1e-5) << i << ", " << j;
          }
      }
}

// Kernels may multiply numbers without a sign, as a ReLU leaves them, in another way: with the same bits as beside rows
// that have signs, and right.
TEST(PackedGemm, Int8RowsWithoutSigns) {
  ThreadPool pool(2);
  const std::int64_t m = 29, n = 70;
  for (const std::int64_t k : {1, 63, 64, 300, 2100}) {
    SCOPED_TRACE(fmt::format("k {}", k));
    Buffer a(m, k, DType::f32, 1), w(n, k, DType::f32, 2), alone(m, n, DType::f32, 3), beside(m, n, DType::f32, 3);
    float* numbers = reinterpret_cast<float*>(a.data());
    for (std::int64_t i = 0; i < m * a.stride; ++i) numbers[i] = std::abs(numbers[i]);
    const PackedWeights weights = PackedWeights::pack({w.data(), w.dtype, w.stride}, n, k, DType::i8);
    PackedGemm g{.m = m, .a = a.data(), .a_dtype = a.dtype, .a_stride = a.stride, .weights = &weights, .out = {}};
    g.out.c_stride = alone.stride, g.out.c = alone.data();
    gemm_packed(g, pool);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, square_a = 0, square_w = 0, most_a = 0, most_w = 0;
        for (std::int64_t x = 0; x < k; ++x) {
          const double u = numbers[i * a.stride + x], v = w.at(j, x);
          sum += u * v, square_a += u * u, square_w += v * v;
          most_a = std::max(most_a, u), most_w = std::max(most_w, std::abs(v));
        }
        const double step_a = most_a / 127, step_w = most_w / 127;
        const double bound = 6 / std::sqrt(12.0) * std::sqrt(step_a * step_a * square_w + step_w * step_w * square_a);
        ASSERT_NEAR(alone.now(i, j), sum, bound + 1e-5) << i << ", " << j;
      }
    for (const std::int64_t i : {0, 9, 20}) numbers[i * a.stride] = -numbers[i * a.stride];
    g.out.c = beside.data();
    gemm_packed(g, pool);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n && i != 0 && i != 9 && i != 20; ++j)
        ASSERT_EQ(alone.now(i, j), beside.now(i, j)) << i << ", " << j;
  }
}

// A row's result does not depend on the rows beside it: bit by bit, for every kernel of this machine, few rows (panels
// in streams), several tiles of rows, K in slices, edges on all sides.
TEST(PackedGemm, RowsDoNotDependOnEachOther) {
  ThreadPool two(2), three(3);
  const std::int64_t most = 37;
  for (const auto& [n, k] :
       std::vector<std::array<std::int64_t, 2>>{{1, 1}, {17, 3}, {200, 130}, {333, 1100}, {130, 4200}})
    for (const DType as : {DType::f32, DType::bf16, DType::i8})
      for (const Precision precision : {Precision::exact, Precision::split}) {
        SCOPED_TRACE(fmt::format("{} x {} as {}", n, k, name_of(as)));
        Buffer a(most, k, DType::f32, 1), w(n, k, DType::f32, 2), all(most, n, DType::f32, 3);
        const PackedWeights weights = PackedWeights::pack({w.data(), w.dtype, w.stride}, n, k, as, precision, two);
        PackedGemm g{
            .m = most, .a = a.data(), .a_dtype = a.dtype, .a_stride = a.stride, .weights = &weights, .out = {}};
        g.out.c_stride = all.stride, g.out.c = all.data();
        gemm_packed(g, three);
        for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 28, 33}) {
          Buffer some(most, n, DType::f32, 3);
          g.m = m, g.out.c = some.data();
          gemm_packed(g, two);
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
              ASSERT_EQ(some.now(i, j), all.now(i, j)) << m << ": " << i << ", " << j;
        }
      }
}

// What is packed can be read again, row by row: exactly as f32, rounded as bf16, to half a step as int8.
TEST(PackedGemm, RowsCanBeRead) {
  for (const auto& [n, k] : std::vector<std::array<std::int64_t, 2>>{{1, 1}, {40, 7}, {65, 100}, {33, 129}})
    for (const DType as : {DType::f32, DType::bf16, DType::i8})
      for (const Precision precision : {Precision::exact, Precision::split}) {
        Buffer w(n, k, DType::f32, 2);
        const PackedWeights weights = PackedWeights::pack({w.data(), w.dtype, w.stride}, n, k, as, precision);
        std::vector<float> row(static_cast<std::size_t>(k));
        for (std::int64_t i = 0; i < n; ++i) {
          weights.read_row(i, row.data());
          double most = 0;
          for (std::int64_t j = 0; j < k; ++j) most = std::max(most, std::abs(w.at(i, j)));
          for (std::int64_t j = 0; j < k; ++j) {
            const double value = w.at(i, j);
            const double bound = as == DType::i8                 ? most / 127 * 0.501
                                 : as == DType::bf16             ? std::abs(value) / 256
                                 : precision == Precision::split ? std::abs(value) / 65536
                                                                 : 0;
            ASSERT_NEAR(row[static_cast<std::size_t>(j)], value, bound) << name_of(as) << " " << i << ", " << j;
          }
        }
      }
}

// int8 exactly: weights and activations that are already whole numbers of steps.
TEST(PackedGemm, Int8IsExactOnWholeNumbers) {
  ThreadPool pool(2);
  const std::int64_t m = 21, n = 75, k = 190;
  std::vector<float> a(m * k), w(n * k), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(random_word(1, 1, i) % 255) - 127;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(random_word(1, 2, i) % 255) - 127;
  for (std::int64_t i = 0; i < m; ++i) a[static_cast<std::size_t>(i * k)] = 127;
  for (std::int64_t i = 0; i < n; ++i) w[static_cast<std::size_t>(i * k)] = -127;
  const PackedWeights weights = PackedWeights::pack({w.data(), DType::f32, k}, n, k, DType::i8);
  PackedGemm g{.m = m, .a = a.data(), .a_dtype = DType::f32, .a_stride = k, .weights = &weights, .out = {}};
  g.out.c = c.data(), g.out.c_stride = n;
  gemm_packed(g, pool);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += static_cast<double>(a[static_cast<std::size_t>(i * k + x)]) * w[static_cast<std::size_t>(j * k + x)];
      ASSERT_NEAR(c[static_cast<std::size_t>(i * n + j)], sum, 1e-6 * std::abs(sum) + 0.5) << i << ", " << j;
    }
}

}  // namespace
}  // namespace attend::cpu
