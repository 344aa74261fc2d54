#include "attend/tensor/step_graph.h"

#include "attend/tensor/backend.h"

namespace attend {

StepGraph::StepGraph(Pass& pass) : pass_(pass) {}
StepGraph::~StepGraph() = default;

void StepGraph::clear() { steps_.clear(); }

void StepGraph::run(std::uint64_t key, std::uint64_t seed, std::span<const Stage> stages) {
  Step& step = steps_[key];
  if (!step.graphs.empty() && step.generation == pass_.arena().generation()) {
    pass_.set_seed(seed);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (stages[i].on_host)
        stages[i].body();
      else
        step.graphs[i]->launch();
    }
    ++replays_;
    return;
  }
  step.graphs.clear();
  pass_.begin({.plan = key, .seed = seed});
  if (step.eager || ++step.runs < 3 || !pass_.arena().replaying()) {
    for (const Stage& stage : stages) stage.body();
    return;
  }
  step.generation = pass_.arena().generation();
  for (const Stage& stage : stages) {
    step.graphs.push_back(stage.on_host ? nullptr : pass_.backend().capture(stage.body));
    if (stage.on_host)
      stage.body();
    else if (step.graphs.back())
      step.graphs.back()->launch();
    else
      step.eager = true;  // the device has no graph of it, and has run it
  }
  // Without a graph of every stage there is none; and one that left its plan has its memory where the next step's is
  // not.
  if (step.eager || !pass_.arena().replaying()) step.graphs.clear();
}

}  // namespace attend
