// The CPU matrix product against loops in double: every instruction set of this machine, odd sizes, all
// transpositions, every part of the epilogue, batches, thread counts. Weights packed at load: packed_gemm_test.cpp.
#include "attend/cpu/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/cpu/features.h"
#include "attend/cpu/gemm/blocked.h"
#include "tests/cpu/gemm_buffer.h"
#include "tests/ops/activate.h"

namespace attend::cpu {
namespace {

using detail::Kernel;
using detail::KernelSet;
using detail::Operand;
using test::Buffer;

// The kernels of each instruction set that this machine has, capped one after the other.
std::vector<std::pair<std::string, KernelSet>> all_sets() {
  std::vector<std::pair<std::string, KernelSet>> sets;
  for (const char* cap :
       {"generic", "avx2", "avx512", "avx512_bf16", "amx", "neon", "neon_dot", "neon_bf16", "neon_i8mm"}) {
    const Features f = capped(features(), cap);
    const std::string name = describe(f);
    if (sets.empty() || name != sets.back().first) sets.emplace_back(name, detail::choose_kernels(f));
  }
  return sets;
}

struct Case {
  std::int64_t m, n, k;
  bool ta = false, tb = false;
  DType dtype = DType::f32, c_dtype = DType::f32;
  float alpha = 1;
  bool accumulate = false, bias = false, pre = false;
  DType bias_dtype = DType::f32;
  Activation activation = Activation::none;
};

std::string describe_case(const Case& c) {
  return fmt::format("{} x {} x {}{}{} {} -> {} alpha {} accumulate {} bias {} pre {} {}", c.m, c.n, c.k,
                     c.ta ? " aT" : "", c.tb ? " bT" : "", name_of(c.dtype), name_of(c.c_dtype), c.alpha, c.accumulate,
                     c.bias, c.pre, name_of(c.activation));
}

// b packed over the whole of k, panel after panel.
std::vector<std::byte> pack_panels(const Kernel& kernel, const Operand& b, std::int64_t n, std::int64_t k) {
  std::vector<std::byte> panels(static_cast<std::size_t>(detail::packed_bytes(kernel, n, k)));
  for (std::int64_t col = 0; col < n; col += kernel.nr)
    kernel.pack_b(b.at(col, 0), static_cast<int>(std::min<std::int64_t>(kernel.nr, n - col)), kernel.nr, k,
                  panels.data() + col * kernel.padded(k) * kernel.element_bytes());
  return panels;
}

// Where b is: as it is, read in place by dot products, or packed ahead.
enum class Way { blocked, dot, packed };

// One product through a kernel, compared element by element. tolerance: relative to sum |a| |b| over k.
void check_case(const Kernel& kernel, const Case& c, double tolerance, ThreadPool* pool, Way way) {
  Buffer a(c.ta ? c.k : c.m, c.ta ? c.m : c.k, c.dtype, 1), b(c.tb ? c.n : c.k, c.tb ? c.k : c.n, c.dtype, 2);
  Buffer out(c.m, c.n, c.c_dtype, 3), pre(c.m, c.n, c.c_dtype, 4), bias(1, c.n, DType::f32, 5, 0);
  detail::Job job{.m = c.m,
                  .n = c.n,
                  .k = c.k,
                  .a = {static_cast<std::byte*>(a.data()), c.dtype, c.ta ? 1 : a.stride, c.ta ? a.stride : 1},
                  .b = {static_cast<std::byte*>(b.data()), c.dtype, c.tb ? b.stride : 1, c.tb ? 1 : b.stride},
                  .b_panels = nullptr,
                  .out = {out.data(), c.c_dtype, out.stride, c.alpha, c.accumulate, c.bias ? bias.data() : nullptr,
                          DType::f32, c.activation, c.pre ? pre.data() : nullptr},
                  .dequantise = {}};
  std::vector<std::byte> panels;
  if (way == Way::packed) panels = pack_panels(kernel, job.b, c.n, c.k), job.b_panels = panels.data();
  way == Way::dot ? detail::multiply_dot(kernel, job, pool) : detail::multiply_blocked(kernel, job, pool);
  const double half = c.c_dtype == DType::bf16 ? 1.0 / 256 : 0;
  for (std::int64_t i = 0; i < c.m; ++i)
    for (std::int64_t j = 0; j < out.stride; ++j) {
      if (j >= c.n) {
        if (i + 1 < c.m) {
          ASSERT_EQ(out.now(i, j), out.at(i, j)) << "wrote past the row";
        }
        continue;
      }
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < c.k; ++k) {
        const double term = (c.ta ? a.at(k, i) : a.at(i, k)) * (c.tb ? b.at(j, k) : b.at(k, j));
        sum += term, size += std::abs(term);
      }
      const double value = c.alpha * sum + (c.bias ? bias.at(0, j) : 0);
      const double bound = std::abs(c.alpha) * size * tolerance + 2e-6;
      if (c.pre) {
        ASSERT_NEAR(pre.now(i, j), value, bound + std::abs(value) * half) << i << ", " << j;
      }
      const double expected = test::activate(value, c.activation) + (c.accumulate ? out.at(i, j) : 0);
      ASSERT_NEAR(out.now(i, j), expected, 1.2 * bound + std::abs(expected) * half) << i << ", " << j;
    }
}

std::vector<Case> size_cases() {
  std::vector<Case> cases;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {1, 50, 37},
                                                                        {3, 5, 0},
                                                                        {2, 33, 64},
                                                                        {7, 100, 129},
                                                                        {8, 12, 16},
                                                                        {13, 31, 200},
                                                                        {14, 32, 32},
                                                                        {17, 65, 33},
                                                                        {31, 47, 511},
                                                                        {33, 16, 65},
                                                                        {64, 64, 64},
                                                                        {65, 129, 385},
                                                                        {150, 70, 30}})
    for (int t = 0; t < 4; ++t) cases.push_back({.m = m, .n = n, .k = k, .ta = (t & 1) != 0, .tb = (t & 2) != 0});
  return cases;
}

template <class Body>
void for_each_kernel(const Body& body) {
  for (const auto& [name, set] : all_sets()) {
    SCOPED_TRACE(name);
    body(*set.f32, DType::f32, 1e-6);
    body(*set.f32, DType::bf16, 1e-6);
    if (set.split != nullptr) body(*set.split, DType::f32, 6e-6);
    if (set.bf16 != nullptr) body(*set.bf16, DType::bf16, 1e-6);
  }
}

TEST(Gemm, SizesAndTranspositions) {
  ThreadPool pool(2);
  for_each_kernel([&](const Kernel& kernel, DType dtype, double tolerance) {
    for (Case c : size_cases()) {
      c.dtype = dtype;
      SCOPED_TRACE(fmt::format("{}: {}", kernel.name, describe_case(c)));
      ASSERT_NO_FATAL_FAILURE(check_case(kernel, c, tolerance, &pool, Way::blocked));
      if (kernel.dot != nullptr && dtype == kernel.element && !c.ta && c.tb && c.m <= 16) {
        ASSERT_NO_FATAL_FAILURE(check_case(kernel, c, tolerance, &pool, Way::dot));
      }
    }
  });
}

// Few rows by every kernel there is, also those that this machine has better ones for: several packed panels at once or
// in turns, with some of both left over; and dot products with rows that fill more than the nearest cache.
TEST(Gemm, FewRows) {
  ThreadPool pool(2);
  for_each_kernel([&](const Kernel& kernel, DType dtype, double tolerance) {
    for (const auto& [n, k] : std::vector<std::array<std::int64_t, 2>>{{1, 5}, {230, 45}, {140, 1100}})
      for (std::int64_t m = k > 1000 ? 8 : 1; m <= 9; ++m) {
        const Case c{.m = m, .n = n, .k = k, .tb = true, .dtype = dtype, .bias = m % 2 == 0};
        SCOPED_TRACE(fmt::format("{}: {}", kernel.name, describe_case(c)));
        ASSERT_NO_FATAL_FAILURE(check_case(kernel, c, tolerance, &pool, Way::packed));
        if (kernel.dot != nullptr && dtype == kernel.element) {
          ASSERT_NO_FATAL_FAILURE(check_case(kernel, c, tolerance, &pool, Way::dot));
        }
      }
  });
}

// The same of int8, which is exact: all are whole numbers of steps, with 127 in each row.
TEST(Gemm, FewRowsOfInt8) {
  ThreadPool pool(2);
  const std::int64_t n = 230, k = 150, most = 9;
  std::vector<float> a(most * k), w(n * k);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = i % k == 0 ? 127 : static_cast<float>(random_word(1, 1, i) % 255) - 127;
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = i % k == 0 ? -127 : static_cast<float>(random_word(1, 2, i) % 255) - 127;
  for (const auto& [name, set] : all_sets()) {
    SCOPED_TRACE(name);
    const Kernel& kernel = *set.int8;
    const std::int64_t padded = kernel.padded(k);
    const auto quantised = [&](const std::vector<float>& from, std::int64_t rows, int offset,
                               std::vector<float>& units) {
      std::vector<std::byte> to(static_cast<std::size_t>((rows + 31) / 32 * 32 * padded));
      for (std::int64_t r = 0; r < rows; ++r)
        units.push_back(kernel.quantise({reinterpret_cast<const std::byte*>(from.data() + r * k), DType::f32}, k,
                                        padded, offset, to.data() + r * padded));
      return to;
    };
    std::vector<float> a_units, w_units;
    const std::vector<std::byte> rows = quantised(a, most, kernel.a_offset, a_units);
    const std::vector<std::byte> columns = quantised(w, n, 0, w_units);
    const std::vector<std::byte> panels = pack_panels(kernel, {columns.data(), DType::i8, padded, 1}, n, padded);
    std::vector<std::int32_t> offsets(n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < k; ++i)
        offsets[static_cast<std::size_t>(j)] +=
            kernel.a_offset * static_cast<int>(w[static_cast<std::size_t>(j * k + i)]);
    for (std::int64_t m = 1; m <= most; ++m) {
      std::vector<float> c(static_cast<std::size_t>(m * n));
      detail::Job job{.m = m, .n = n, .k = padded};
      job.a = {rows.data(), DType::i8, padded, 1}, job.b_panels = panels.data();
      job.out.c = c.data(), job.out.c_stride = n;
      job.dequantise = {a_units.data(), w_units.data(), kernel.a_offset != 0 ? offsets.data() : nullptr};
      detail::multiply_blocked(kernel, job, &pool);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t x = 0; x < k; ++x)
            sum += static_cast<double>(a[static_cast<std::size_t>(i * k + x)]) * w[static_cast<std::size_t>(j * k + x)];
          ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << kernel.name << " " << m << ": " << i << ", " << j;
        }
    }
  }
}

TEST(Gemm, Epilogue) {
  ThreadPool pool(2);
  for_each_kernel([&](const Kernel& kernel, DType dtype, double tolerance) {
    for (int i = 0; i < 28; ++i) {
      const Case c{.m = 19,
                   .n = 37 + i % 3,
                   .k = 40,
                   .ta = false,
                   .tb = true,
                   .dtype = dtype,
                   .c_dtype = i % 2 == 0 ? DType::f32 : DType::bf16,
                   .alpha = i % 5 == 0 ? 0.5f : 1.0f,
                   .accumulate = i % 4 >= 2,
                   .bias = i % 3 != 0,
                   .pre = i % 7 < 4,
                   .activation = static_cast<Activation>(i % 7)};
      SCOPED_TRACE(fmt::format("{}: {}", kernel.name, describe_case(c)));
      ASSERT_NO_FATAL_FAILURE(check_case(kernel, c, tolerance, &pool, Way::blocked));
    }
  });
}

TEST(Gemm, NotANumberPassesEveryActivation) {
  ThreadPool pool(1);
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::tanh,
        Activation::sigmoid, Activation::leaky_relu}) {
    // Whole tiles of every kernel, and a rest.
    std::vector<float> a{1}, b(67, 1), c(67);
    b[2] = b[66] = std::numeric_limits<float>::quiet_NaN();
    Gemm g;
    g.m = 1, g.n = 67, g.k = 1;
    g.a = {a.data(), DType::f32, 1, false}, g.b = {b.data(), DType::f32, 67, false};
    g.c = c.data(), g.c_stride = 67, g.activation = activation;
    gemm(g, pool);
    for (std::size_t i = 0; i < c.size(); ++i)
      EXPECT_EQ(std::isnan(c[i]), i == 2 || i == 66) << static_cast<int>(activation) << " at " << i;
  }
}

// K in several slices, and K, M and N in several pieces.
TEST(Gemm, LargeSizes) {
  ThreadPool pool(2);
  const KernelSet set = detail::choose_kernels(features());
  for (const Kernel* kernel : {set.f32, set.split, set.bf16}) {
    if (kernel == nullptr) continue;
    const DType dtype = kernel == set.bf16 ? DType::bf16 : DType::f32;
    const std::vector<Case> cases = {{.m = 290, .n = 40, .k = 1100, .tb = true},
                                     {.m = 35, .n = 34, .k = 8192 + 700, .bias = true, .activation = Activation::relu},
                                     {.m = 600, .n = 33, .k = 70, .ta = true, .accumulate = true}};
    for (Case c : cases) {
      c.dtype = dtype;
      SCOPED_TRACE(fmt::format("{}: {}", kernel->name, describe_case(c)));
      ASSERT_NO_FATAL_FAILURE(check_case(*kernel, c, 8e-6, &pool, Way::blocked));
    }
  }
}

// Through the public entry: batches with strides, and 1 thread against 3, bit by bit.
TEST(Gemm, BatchesAndThreads) {
  ThreadPool one(1), three(3);
  for (const auto& [m, n, k, batch] :
       std::vector<std::array<std::int64_t, 4>>{{20, 30, 25, 5}, {64, 64, 64, 7}, {5, 300, 256, 3}, {300, 200, 500, 1}})
    for (const Precision precision : {Precision::exact, Precision::split})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        SCOPED_TRACE(fmt::format("{} x {} x {} x {} {}", m, n, k, batch, name_of(dtype)));
        Buffer a(batch * m, k, dtype, 1), b(batch * n, k, dtype, 2), bias(1, n, DType::bf16, 6, 0);
        Buffer c1(batch * m, n, DType::f32, 3), c3(batch * m, n, DType::f32, 3);
        Gemm g{.m = m, .n = n, .k = k};
        g.a = {a.data(), dtype, a.stride};
        g.b = {b.data(), dtype, b.stride, true};
        g.bias = bias.data(), g.bias_dtype = DType::bf16;
        g.c_stride = c1.stride, g.precision = precision;
        g.batch = batch, g.a_batch = m * a.stride, g.b_batch = n * b.stride, g.c_batch = m * c1.stride;
        g.c = c1.data();
        gemm(g, one);
        g.c = c3.data();
        gemm(g, three);
        ASSERT_EQ(std::memcmp(c1.bytes.data(), c3.bytes.data(), c1.bytes.size()), 0);
        for (std::int64_t s = 0; s < batch; ++s)
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              double sum = bias.at(0, j), size = 1;
              for (std::int64_t x = 0; x < k; ++x) {
                const double term = a.at(s * m + i, x) * b.at(s * n + j, x);
                sum += term, size += std::abs(term);
              }
              ASSERT_NEAR(c1.now(s * m + i, j), sum, size * 6e-6) << s << ", " << i << ", " << j;
            }
      }
}

// However many threads share a product, and whatever they pack ahead: bit by bit the same, C accumulated or written.
TEST(Gemm, AnyNumberOfThreads) {
  ThreadPool one(1), three(3), sixteen(16);
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{520, 300, 40}, {230, 33, 4200}, {7, 333, 70}})
    for (const bool transposed : {false, true})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        SCOPED_TRACE(fmt::format("{} x {} x {} {} {}", m, n, k, name_of(dtype), transposed));
        Buffer a(transposed ? k : m, transposed ? m : k, dtype, 1), b(k, n, dtype, 2);
        Buffer c1(m, n, DType::f32, 3), c3 = c1, c16 = c1;
        Gemm g{.m = m, .n = n, .k = k};
        g.a = {a.data(), dtype, a.stride, transposed};
        g.b = {b.data(), dtype, b.stride};
        g.c_stride = c1.stride, g.accumulate = transposed;
        for (const Precision precision : {Precision::exact, Precision::split}) {
          g.precision = precision;
          g.c = c1.data();
          gemm(g, one);
          g.c = c3.data();
          gemm(g, three);
          g.c = c16.data();
          gemm(g, sixteen);
          ASSERT_EQ(std::memcmp(c1.bytes.data(), c3.bytes.data(), c1.bytes.size()), 0);
          ASSERT_EQ(std::memcmp(c1.bytes.data(), c16.bytes.data(), c1.bytes.size()), 0);
        }
      }
}

// Who takes which columns of a product of few rows is not settled before it runs.
TEST(Gemm, FewRowsWithAnyNumberOfThreads) {
  ThreadPool one(1), two(2), three(3), sixteen(16);
  for (const auto& [m, n] :
       std::vector<std::array<std::int64_t, 2>>{{1, 1997}, {5, 37}, {8, 997}, {8, 1997}, {16, 2023}})
    for (const auto& [k, dtype] : {std::pair{96, DType::f32}, {99, DType::f32}, {96, DType::bf16}, {99, DType::bf16}}) {
      SCOPED_TRACE(fmt::format("{} x {} x {} {}", m, n, k, name_of(dtype)));
      Buffer a(m, k, dtype, 1), b(n, k, dtype, 2), c1(m, n, DType::f32, 3);
      Gemm g{.m = m, .n = n, .k = k};
      g.a = {a.data(), dtype, a.stride}, g.b = {b.data(), dtype, b.stride, true};
      g.c = c1.data(), g.c_stride = c1.stride;
      gemm(g, one);
      for (int round = 0; round < 5; ++round)
        for (ThreadPool* pool : {&two, &three, &sixteen}) {
          Buffer c(m, n, DType::f32, 3);
          g.c = c.data();
          gemm(g, *pool);
          ASSERT_EQ(std::memcmp(c1.bytes.data(), c.bytes.data(), c.bytes.size()), 0) << pool->threads();
        }
    }
}

TEST(Gemm, RefusesWhatDoesNotFit) {
  ThreadPool pool(1);
  float x[16] = {};
  Gemm g{.m = 4, .n = 4, .k = 4};
  g.a = {x, DType::f32, 3}, g.b = {x, DType::f32, 4}, g.c = x, g.c_stride = 4;
  EXPECT_THROW(gemm(g, pool), Error);
  g.a = {x, DType::bf16, 4};
  EXPECT_THROW(gemm(g, pool), Error);
}

}  // namespace
}  // namespace attend::cpu
