// A training step planned once and replayed: the first step of a batch shape writes the arena's plan, the second runs
// on it (and lets the backend time its matrix products), the third is captured, and from then on the step is one
// launch. Where the device has no graph of it (the CPU, but for decoding) every step runs eagerly on its plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "attend/tensor/pass.h"

namespace attend {

class Graph;  // backend.h

class StepGraph {
 public:
  explicit StepGraph(Pass& pass);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  // body does one step between pass.begin() and its end. It must read its inputs from, and leave its results in,
  // tensors that live outside the pass, and do the same work for the same key every time.
  void run(std::uint64_t key, std::uint64_t seed, const std::function<void()>& body) {
    const Stage one{body};
    run(key, seed, std::span(&one, 1));
  }

  // A step in stages, one tape through all of them. Those of the host are run every time, between the graphs of the
  // others; what they read and write lives outside the pass, too.
  struct Stage {
    std::function<void()> body;
    bool on_host = false;
  };
  void run(std::uint64_t key, std::uint64_t seed, std::span<const Stage> stages);

  // None of the keys comes back.
  void clear();

  std::int64_t replays() const { return replays_; }

 private:
  struct Step {
    int runs = 0;
    bool eager = false;                          // there is no graph of it
    std::uint64_t generation = 0;                // of the arena's slab that the graph's addresses lie in
    std::vector<std::unique_ptr<Graph>> graphs;  // one per stage, null for the host's; empty: not captured
  };
  Pass& pass_;
  std::unordered_map<std::uint64_t, Step> steps_;
  std::int64_t replays_ = 0;
};

}  // namespace attend
