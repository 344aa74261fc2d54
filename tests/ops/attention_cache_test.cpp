// Attention to a cache by heads (keys and values of a head are runs of memory, perhaps in bf16), against the textbook
// formula in double; and the rows that are put into such a cache.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "attend/base/error.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/ops/attention.h"

namespace attend {
namespace {

struct CacheCase {
  std::int64_t B = 3, H = 2, T = 1, S = 70, D = 64;
  DType q = DType::f32, kept = DType::bf16;
};

double cached(const Tensor& x, std::int64_t i) {
  return x.dtype() == DType::bf16 ? static_cast<float>(static_cast<Bf16*>(x.raw())[i])
                                  : static_cast<float*>(x.raw())[i];
}

Tensor drawn_cache(CpuBackend& cpu, const Shape& shape, DType dtype, std::uint32_t stream) {
  Tensor x = make_tensor(cpu, shape, dtype);
  cpu.random(x, {.kind = RandomFill::normal, .seed = 9, .stream = stream});
  return x;
}

// Sequence b has S, 0, and then ever fewer keys.
std::int64_t cached_keys(const CacheCase& c, std::int64_t b) { return b == 0 ? c.S : b == 1 ? 0 : c.S / b; }

void expect_cache_formula(const CacheCase& c, const Tensor& q, const Tensor& cache, const Tensor& y) {
  const double allowed = c.q == DType::bf16 ? 2e-2 : 2e-5;
  for (std::int64_t b = 0; b < c.B; ++b)
    for (std::int64_t h = 0; h < c.H; ++h)
      for (std::int64_t t = 0; t < c.T; ++t) {
        const std::int64_t row = (b * c.T + t) * c.H * c.D + h * c.D;
        const std::int64_t k = (b * 2 * c.H + h) * c.S * c.D, v = ((b * 2 + 1) * c.H + h) * c.S * c.D;
        std::vector<double> mixed(static_cast<std::size_t>(c.D));
        double sum = 0;
        for (std::int64_t s = 0; s < cached_keys(c, b); ++s) {
          double score = 0;
          for (std::int64_t i = 0; i < c.D; ++i) score += cached(q, row + i) * cached(cache, k + s * c.D + i);
          const double weight = std::exp(score / std::sqrt(static_cast<double>(c.D)));
          sum += weight;
          for (std::int64_t i = 0; i < c.D; ++i)
            mixed[static_cast<std::size_t>(i)] += weight * cached(cache, v + s * c.D + i);
        }
        for (std::int64_t i = 0; i < c.D; ++i)
          ASSERT_NEAR(cached(y, row + i), sum > 0 ? mixed[static_cast<std::size_t>(i)] / sum : 0.0, allowed)
              << "sequence " << b << ", head " << h << ", query " << t << ", D " << c.D << ", S " << c.S;
      }
}

Tensor cache_attended(CpuBackend& cpu, const CacheCase& c, const Tensor& q, const Tensor& cache) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t b = 0; b < q.dim(0); ++b) lengths.push_back(static_cast<std::int32_t>(cached_keys(c, b)));
  const Tensor counted = make_tensor(cpu, {q.dim(0)}, DType::i32);
  upload(counted, lengths);
  return ops::attention(q, cache, cache, {.heads = c.H, .mask = {.key_lengths = counted}});
}

TEST(AttentionCache, IsTheFormula) {
  CpuBackend cpu({.threads = 2});
  std::vector<CacheCase> cases;
  for (const std::int64_t D : {8, 16, 24, 40, 64, 80, 128, 256})
    for (const std::int64_t S : {1, 7, 64, 300}) cases.push_back({.S = S, .D = D});
  cases.push_back({.S = 1030});
  cases.push_back({.S = 257, .kept = DType::f32});
  cases.push_back({.S = 257, .q = DType::bf16});
  cases.push_back({.T = 3});
  cases.push_back({.T = 9, .kept = DType::f32});
  for (const CacheCase& c : cases) {
    const Tensor q = drawn_cache(cpu, {c.B, c.T, c.H * c.D}, c.q, 1);
    const Tensor cache = drawn_cache(cpu, {c.B, 2 * c.H, c.S, c.D}, c.kept, 2);
    expect_cache_formula(c, q, cache, cache_attended(cpu, c, q, cache));
  }
}

// What lies behind the last key, and in other rows, is never read into a result.
TEST(AttentionCache, ReadsNoKeyThatIsNotThere) {
  CpuBackend cpu({.threads = 1});
  const CacheCase c{.B = 2, .S = 40};
  const Tensor q = drawn_cache(cpu, {c.B, 1, c.H * c.D}, c.q, 1),
               cache = drawn_cache(cpu, {c.B, 2 * c.H, c.S, c.D}, c.kept, 2);
  const Tensor before = cache_attended(cpu, c, q, cache);
  for (std::int64_t i = 2 * c.H * c.S * c.D; i < cache.size(); ++i) cache.data<Bf16>()[i] = Bf16(std::nanf(""));
  const Tensor after = cache_attended(cpu, c, q, cache);
  for (std::int64_t i = 0; i < c.H * c.D; ++i) EXPECT_EQ(cached(after, i), cached(before, i));
  for (std::int64_t i = c.H * c.D; i < 2 * c.H * c.D; ++i) EXPECT_EQ(cached(after, i), 0.0);  // of no keys
}

TEST(AttentionCache, BadCachesAreErrors) {
  CpuBackend cpu({.threads = 1});
  const CacheCase c;
  const Tensor q = drawn_cache(cpu, {c.B, 1, c.H * c.D}, DType::bf16, 1);
  const auto attend = [&](const Shape& shape, DType dtype) {
    const Tensor cache = drawn_cache(cpu, shape, dtype, 2);
    ops::attention(q, cache, cache, {.heads = c.H});
  };
  EXPECT_NO_THROW(attend({c.B, 2 * c.H, c.S, c.D}, DType::bf16));
  EXPECT_THROW(attend({c.B, 2 * c.H, c.S, c.D}, DType::f32), Error);  // finer than what reads it
  EXPECT_THROW(attend({c.B, c.H, c.S, c.D}, DType::bf16), Error);
  EXPECT_THROW(attend({c.B, 2 * c.H, c.S, c.D / 2}, DType::bf16), Error);
  EXPECT_THROW(attend({c.B + 1, 2 * c.H, c.S, c.D}, DType::bf16), Error);
}

TEST(AttentionCache, RowsGoToTheirHeads) {
  CpuBackend cpu({.threads = 2});
  const std::int64_t R = 2, G = 4, N = 5, D = 8;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor table = make_tensor(cpu, {R, G, N, D}, dtype), x = make_tensor(cpu, {3, G * D}, DType::f32);
    cpu.fill(table, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i + 1);
    const Tensor ids = make_tensor(cpu, {3}, DType::i32);
    upload(ids, std::vector<std::int32_t>{7, -1, 4});
    cpu.put_rows(x, ids, table);
    for (std::int64_t r = 0; r < R; ++r)
      for (std::int64_t g = 0; g < G; ++g)
        for (std::int64_t n = 0; n < N; ++n)
          for (std::int64_t d = 0; d < D; ++d) {
            const std::int64_t row = r == 1 && n == 2 ? 0 : r == 0 && n == 4 ? 2 : -1;  // ids 1 · N + 2 and 4
            const double expected = row < 0 ? 0.0 : static_cast<double>(row * G * D + g * D + d + 1);
            EXPECT_EQ(cached(table, ((r * G + g) * N + n) * D + d), expected);
          }
  }
}

}  // namespace
}  // namespace attend
