// How long work takes on a device: the fastest of several runs, which other programs disturb least.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace attend::experiments {

// Milliseconds. run() returns when its results are there. The first two runs plan memory and choose kernels; they are
// not measured.
template <class Run>
double fastest_milliseconds(std::int64_t repeats, const Run& run) {
  constexpr int kUnmeasured = 2;
  double best = std::numeric_limits<double>::max();
  for (std::int64_t i = 0; i < repeats + kUnmeasured; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (i >= kUnmeasured) best = std::min(best, took.count());
  }
  return best;
}

}  // namespace attend::experiments
