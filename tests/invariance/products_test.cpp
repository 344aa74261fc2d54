// Products whose rows are alike (Gemm::rows_alike): a row has the same bits however many rows there are, with B by rows
// and by columns, K in one slice and in several, and all that is done to a product on its way out.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>

#include "attend/cpu/features.h"
#include "attend/cpu/gemm.h"
#include "tests/cpu/gemm_buffer.h"

namespace attend::test {
namespace {

using namespace cpu;

struct Way {
  DType dtype;
  bool transposed, accumulate;
  Precision precision;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const bool transposed : {false, true})
      for (const bool accumulate : {false, true})
        for (const Precision precision : {Precision::exact, Precision::split})
          if (dtype == DType::f32 || precision == Precision::exact)
            all.push_back({dtype, transposed, accumulate, precision});
  return all;
}

constexpr std::int64_t kMost = 300;

TEST(Products, RowsDoNotDependOnTheirNumber) {
  ThreadPool two(2);
  for (const auto& sizes :
       std::vector<std::array<std::int64_t, 2>>{{1, 5}, {16, 48}, {130, 70}, {97, 1100}, {36, 4200}})
    for (const Way& way : ways()) {
      const std::int64_t n = sizes[0], k = sizes[1];
      Buffer a(kMost, k, way.dtype, 1);
      Buffer b(way.transposed ? n : k, way.transposed ? k : n, way.dtype, 2);
      // c [m, n] of the first m rows of a, flat.
      const auto product = [&](std::int64_t m) {
        std::vector<float> c(static_cast<std::size_t>(m * n), 0.3f);
        Gemm g{.m = m, .n = n, .k = k};
        g.a = {a.data(), way.dtype, a.stride}, g.b = {b.data(), way.dtype, b.stride, way.transposed};
        g.c = c.data(), g.c_stride = n, g.accumulate = way.accumulate;
        g.precision = way.precision, g.rows_alike = true;
        gemm(g, two);
        return c;
      };
      const std::vector<float> all = product(kMost);
      for (const std::int64_t m : {1, 2, 7, 8, 9, 16, 33, 257}) {
        const std::vector<float> some = product(m);
        ASSERT_EQ(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)), 0)
            << fmt::format("{} x {} x {} {}{}{}{}, {}", m, n, k, name_of(way.dtype),
                           way.transposed ? ", transposed" : "", way.accumulate ? ", accumulated" : "",
                           way.precision == Precision::split ? ", split" : "", describe(features()));
      }
    }
}

}  // namespace
}  // namespace attend::test
