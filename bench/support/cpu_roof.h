// The roof of the cores for products with weights of one form: our best product with 1,024 rows or more.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "attend/cpu/gemm.h"
#include "bench/support/stopwatch.h"

namespace attend {

// The least seconds that a call took within a budget of time.
template <class Run>
double least_seconds(double budget, const Run& run, Stopwatch::Counts counts = Stopwatch::Counts::wall) {
  run();
  double least = 1e9;
  for (const Stopwatch all(counts); all.seconds() < budget;) {
    const Stopwatch one(counts);
    run();
    least = std::min(least, one.seconds());
  }
  return least;
}

// 2 m n k per second. weights: f32 (plain f32, as everyone computes it), bf16x3, bf16 or int8.
inline double operations_per_second(std::string_view weights_as, ThreadPool& pool,
                                    Stopwatch::Counts counts = Stopwatch::Counts::wall) {
  const cpu::Precision precision = weights_as == "bf16x3" ? cpu::Precision::split : cpu::Precision::exact;
  const DType dtype = weights_as == "int8" ? DType::i8 : weights_as == "bf16" ? DType::bf16 : DType::f32;
  double best = 0;
  for (const auto& [m, n, k] : {std::array{1024, 3072, 768}, {1024, 768, 3072}, {2048, 2048, 2048}}) {
    const std::vector<float> a(static_cast<std::size_t>(m * k), 0.5f), b(static_cast<std::size_t>(n * k), 0.25f);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    const cpu::PackedWeights weights =
        cpu::PackedWeights::pack({b.data(), DType::f32, k, false}, n, k, dtype, precision, pool);
    cpu::PackedGemm g;
    g.m = m, g.a = a.data(), g.a_stride = k, g.weights = &weights;
    g.out.c = c.data(), g.out.c_stride = n;
    best = std::max(best, 2.0 * m * n * k /
                              least_seconds(
                                  0.2, [&] { cpu::gemm_packed(g, pool); }, counts));
  }
  return best;
}

}  // namespace attend
