// Where the time of a layer goes inside of a kernel that computes a whole step (attend/cuda/decode/step_stamps.cuh):
// for each moment of one layer the time since the one before, over the blocks of the grid.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"
#include "attend/cuda/decode/many_rows_launch.cuh"
#include "attend/cuda/decode/step_stamps.cuh"
#include "bench/support/step_case.h"

namespace attend {

// Microseconds up to each moment since the one before: of the middle block and of the slowest. Negative: no such
// moment.
struct PhaseTimes {
  std::array<double, cuda::StepMoment::kCount> median, most;
  double layer = 0, step = 0;
};

inline double middle_of(std::vector<double> values) {
  if (values.empty()) return -1;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

// Of one launch.
inline PhaseTimes phase_times(const std::vector<std::uint64_t>& stamps) {
  using Moment = cuda::StepMoment;
  std::array<std::vector<double>, Moment::kCount> since;
  std::vector<double> layers, steps;
  for (std::size_t block = 0; block < stamps.size() / Moment::kAll; ++block) {
    const std::uint64_t* at = stamps.data() + block * Moment::kAll;
    const double nanoseconds = static_cast<double>(at[Moment::kEndTime] - at[Moment::kBeginTime]);
    const double tick = nanoseconds / static_cast<double>(at[Moment::kEndClock] - at[Moment::kBeginClock]) * 1e-3;
    std::uint64_t before = at[Moment::kStart];
    for (std::size_t i = 1; i < Moment::kCount; ++i)
      if (at[i] != 0) since[i].push_back(static_cast<double>(at[i] - std::exchange(before, at[i])) * tick);
    layers.push_back(static_cast<double>(before - at[Moment::kStart]) * tick), steps.push_back(nanoseconds * 1e-3);
  }
  PhaseTimes times{};
  for (std::size_t i = 0; i < Moment::kCount; ++i) {
    times.median[i] = middle_of(since[i]);
    times.most[i] = since[i].empty() ? -1 : *std::max_element(since[i].begin(), since[i].end());
  }
  times.layer = middle_of(layers), times.step = middle_of(steps);
  return times;
}

// Of many launches: the middle one of each number.
template <class Step>
PhaseTimes phase_times(CudaBackend& backend, Step& step, const StepCase& all, int blocks) {
  using Moment = cuda::StepMoment;
  constexpr int kLaunches = 25, kBefore = 5;  // some in front of each, so that the clock stays up
  std::vector<std::uint64_t> stamps(static_cast<std::size_t>(blocks * Moment::kAll));
  const std::size_t bytes = stamps.size() * sizeof(stamps[0]);
  void* on_device = nullptr;
  cuda_check(cudaMalloc(&on_device, bytes), "phases");
  step.set_stamps({.of_blocks = static_cast<std::uint64_t*>(on_device), .layer = static_cast<int>(all.layers) / 2});
  std::vector<PhaseTimes> launches;
  for (int i = 0; i < kLaunches; ++i) {
    for (int j = 0; j < kBefore; ++j) step.run(all.in, all.states);
    cuda_check(cudaMemsetAsync(on_device, 0, bytes, backend.stream()), "phases");
    step.run(all.in, all.states);
    cuda_check(cudaMemcpyAsync(stamps.data(), on_device, bytes, cudaMemcpyDeviceToHost, backend.stream()), "phases");
    cuda_check(cudaStreamSynchronize(backend.stream()), "phases");
    launches.push_back(phase_times(stamps));
  }
  cuda_check(cudaFree(on_device), "phases");
  const auto middle = [&](auto&& number) {
    std::vector<double> values;
    for (const PhaseTimes& launch : launches) values.push_back(number(launch));
    return middle_of(values);
  };
  PhaseTimes times{};
  for (std::size_t i = 0; i < Moment::kCount; ++i) {
    times.median[i] = middle([&](const PhaseTimes& launch) { return launch.median[i]; });
    times.most[i] = middle([&](const PhaseTimes& launch) { return launch.most[i]; });
  }
  times.layer = middle([](const PhaseTimes& launch) { return launch.layer; });
  times.step = middle([](const PhaseTimes& launch) { return launch.step; });
  return times;
}

// One line per moment and one column per case: "median/most".
inline void print_phases(const std::string& what, const std::vector<std::string>& cases,
                         const std::vector<PhaseTimes>& times) {
  using Moment = cuda::StepMoment;
  static constexpr const char* kPhases[] = {"input",  "attend",        "output", "query",
                                            "memory", "memory output", "expand", "contract"};
  static constexpr const char* kSteps[] = {"came", "read", "multiplied", "met", "done"};
  std::printf("%s: a layer's us by moment, median/most of the blocks\n%-24s", what.c_str(), "rows x keys");
  for (const std::string& name : cases) std::printf(" %11s", name.c_str());
  for (int phase = 0; phase < Moment::kPhases; ++phase)
    for (int step = 0; step < Moment::kSteps; ++step) {
      const auto at =
          static_cast<std::size_t>(Moment::of(static_cast<Moment::Phase>(phase), static_cast<Moment::Step>(step)));
      if (times.front().median[at] < 0) continue;
      std::printf("\n%-13s %-10s", kPhases[phase], kSteps[step]);
      for (const PhaseTimes& one : times) std::printf("  %4.2f/%5.2f", one.median[at], one.most[at]);
    }
  std::printf("\n%-24s", "layer");
  for (const PhaseTimes& one : times) std::printf(" %11.2f", one.layer);
  std::printf("\n%-24s", "all layers");
  for (const PhaseTimes& one : times) std::printf(" %11.1f", one.step);
  std::printf("\n");
  std::fflush(stdout);
}

// The lines of `phases`: of the kernel for up to 64 rows.
template <class Shape>
void step_phases(CudaBackend& backend, const StepModel& model, std::size_t layers) {
  const auto step = cuda::ManyRowsStep<Shape, cuda::StampedLayer>::make(backend, step_weights(backend, model, layers));
  if (!step) return std::puts("no kernel of a whole step on this device"), void();
  std::vector<std::string> names;
  std::vector<PhaseTimes> times;
  for (const std::int64_t rows : {3, 8, 32, 64})
    for (const std::int64_t keys : {16, 80}) {
      names.push_back(std::to_string(rows) + " x " + std::to_string(keys));
      times.push_back(phase_times(backend, *step, step_case(backend, model, rows, keys, layers), Shape::kBlocks));
    }
  print_phases(std::to_string(layers) + " layers of width " + std::to_string(model.width), names, times);
}
inline void step_phases(CudaBackend& backend) {
  step_phases<cuda::ManyShape<768, 12, 3072>>(backend, kGpt2Steps, 12);
  step_phases<cuda::ManyShape<512, 8, 2048, true>>(backend, kTransformerSteps, 6);
}

}  // namespace attend
