#include "attend/tensor/step_graph.h"

namespace attend {

void StepGraph::run(std::uint64_t key, std::uint64_t seed, const std::function<void()>& body) {
  Step& step = steps_[key];
  if (step.graph && step.generation == pass_.arena().generation()) {
    pass_.set_seed(seed);
    step.graph->launch();
    ++replays_;
    return;
  }
  step.graph.reset();
  pass_.begin({.plan = key, .seed = seed});
  if (step.eager || ++step.runs < 3 || !pass_.arena().replaying()) return body();
  step.generation = pass_.arena().generation();
  step.graph = pass_.backend().capture(body);
  step.eager = !step.graph;
  if (step.graph) step.graph->launch();
  if (!pass_.arena().replaying()) step.graph.reset();  // it left its plan: its memory is not where the next step's is
}

}  // namespace attend
