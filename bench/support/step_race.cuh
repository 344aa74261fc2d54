// Kernels that compute a whole step of 3 to 64 rows, side by side: the one with a barrier behind each phase
// (few_rows_*), and the one of dealt rows in all its tunings. The first is what the others' states are compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/decode/dealt_rows_launch.cuh"
#include "attend/cuda/decode/few_rows_launch.cuh"
#include "bench/support/step_case.h"
#include "bench/support/step_phases.cuh"

namespace attend {

using BarrierShape = cuda::FewShape<768, 12, 3072>;
using DealtLarge = cuda::DealtShape<768, 12, 3072>;

struct DealtByBarriers {
  static constexpr cuda::DealtTuning kTuning = {.messages = false, .groups = false};
};
struct DealtByMessages {
  static constexpr cuda::DealtTuning kTuning = {.groups = false};
};
struct DealtByGroups {
  static constexpr cuda::DealtTuning kTuning = {};
};
struct DealtEagerly {
  static constexpr cuda::DealtTuning kTuning = {.eager = true};
};
struct DealtByThreads {
  static constexpr cuda::DealtTuning kTuning = {.way = cuda::DealtWay::threads};
};
struct DealtFromRegisters {
  static constexpr cuda::DealtTuning kTuning = {.way = cuda::DealtWay::registers, .eager = true};
};
struct DealtInHalf {
  static constexpr cuda::DealtTuning kTuning = {.way = cuda::DealtWay::registers, .half = true, .eager = true};
};

class StepRace {
 public:
  // seconds(body): of a captured graph.
  using Seconds = std::function<double(const std::function<void()>&)>;
  StepRace(CudaBackend& backend, Seconds seconds) : backend_(backend), seconds_(std::move(seconds)) {
    for (const std::int64_t length : {16, 80, 512})
      for (const std::int64_t rows : {3, 8, 16, 32, 64}) cases_.push_back({rows, length});
  }
  void run() {
    weights_ = step_weights(backend_, kLayers);
    enter<cuda::FewRowsStep<BarrierShape>, BarrierShape>("barriers");
    enter<cuda::DealtRowsStep<DealtLarge, DealtByBarriers>, DealtLarge>("dealt");
    enter<cuda::DealtRowsStep<DealtLarge, DealtByMessages>, DealtLarge>("+messages");
    enter<cuda::DealtRowsStep<DealtLarge, DealtByGroups>, DealtLarge>("+wgmma");
    enter<cuda::DealtRowsStep<DealtLarge, DealtEagerly>, DealtLarge>("wgmma, eager");
    enter<cuda::DealtRowsStep<DealtLarge, DealtByThreads>, DealtLarge>("wgmma, threads");
    enter<cuda::DealtRowsStep<DealtLarge, DealtFromRegisters>, DealtLarge>("eager, regs");
    enter<cuda::DealtRowsStep<DealtLarge, DealtInHalf>, DealtLarge>("+half");
    print();
  }

 private:
  static constexpr std::size_t kLayers = 12;
  struct Case {
    std::int64_t rows, length;
    std::vector<float> states = {};  // by the first kernel
    std::vector<std::string> cells = {};
  };
  template <class Step, class StepShape>
  void enter(const std::string& name) {
    const auto step = cuda::whole_step<Step, StepShape>(backend_, weights_);
    names_.push_back(name);
    for (Case& one : cases_) {
      if (!step) {
        one.cells.push_back("-");
        continue;
      }
      const StepCase all = step_case(backend_, one.rows, one.length, kLayers);
      step->run(all.in, all.states);
      const std::vector<float> states = download(all.states);
      if (one.states.empty()) one.states = states;
      double apart = 0, largest = 0;
      for (std::size_t i = 0; i < states.size(); ++i) {
        const double difference = std::abs(double{states[i]} - double{one.states[i]});
        apart = difference <= apart ? apart : difference;  // so that what is not a number stays
        largest = std::max(largest, std::abs(double{one.states[i]}));
      }
      char cell[64];
      std::snprintf(cell, sizeof(cell), "%.1f (%.1f%%)", seconds_([&] { step->run(all.in, all.states); }) * 1e6,
                    100 * apart / largest);
      one.cells.push_back(cell);
      // Line by line, too: a kernel may hang.
      std::printf("%-12s %2ld rows of %3ld: %s\n", name.c_str(), static_cast<long>(one.rows),
                  static_cast<long>(one.length), cell);
      std::fflush(stdout);
    }
  }
  void print() const {
    std::printf("12 layers, us a step (states apart from the first kernel's, of the largest)\n%-14s", "rows x keys");
    for (const std::string& name : names_) std::printf(" %15s", name.c_str());
    for (const Case& one : cases_) {
      std::printf("\n%2ld x %-9ld", static_cast<long>(one.rows), static_cast<long>(one.length));
      for (const std::string& cell : one.cells) std::printf(" %15s", cell.c_str());
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  CudaBackend& backend_;
  Seconds seconds_;
  DecoderWeights weights_;
  std::vector<Case> cases_;
  std::vector<std::string> names_;
};

// The inside of the first, and of the tunings that are likely to win.
inline void step_phases(CudaBackend& backend) {
  const DecoderWeights weights = step_weights(backend, 12);
  using Barriers = cuda::FewRowsStep<BarrierShape, cuda::StampedLayer>;
  if (const auto step = cuda::whole_step<Barriers, BarrierShape>(backend, weights))
    measure_phases(backend, "few rows, a barrier behind each phase", *step, BarrierShape::kBlocks);
  using Groups = cuda::DealtRowsStep<DealtLarge, DealtByGroups, cuda::StampedLayer>;
  if (const auto step = cuda::whole_step<Groups, DealtLarge>(backend, weights))
    measure_phases(backend, "dealt rows, messages", *step, DealtLarge::kBlocks);
  using Half = cuda::DealtRowsStep<DealtLarge, DealtInHalf, cuda::StampedLayer>;
  if (const auto step = cuda::whole_step<Half, DealtLarge>(backend, weights))
    measure_phases(backend, "dealt rows, messages, registers or threads, eager, half", *step, DealtLarge::kBlocks);
}

}  // namespace attend
