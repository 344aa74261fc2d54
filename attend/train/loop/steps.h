// A step of training: batches through the model and back, gradients added up over processes, an update of every
// learner. It has all that learns: the optimisers, the pass, what is captured, and the sums of the losses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/distributed_step.h"
#include "attend/train/loop/gradient_buckets.h"
#include "attend/train/loop/optimizer.h"
#include "attend/train/loop/run_state.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

class Steps {
 public:
  Steps(Task& task, const std::vector<OptimizerTurn>& learners, const TrainerOptions& options);

  // What a resumed run goes on from.
  void load(const std::filesystem::path& file, RunState& state);
  // Data that nothing can be learned from is refused here, before the run's folder changes: the first batch is made,
  // and the task goes back to where it was.
  void check_data();
  // All have read what is there, and begin with the same weights, before one changes the folder.
  void join();

  struct StepInput {
    std::int64_t step = 1;
    int signal = 0;      // that asks this process to stop
    double seconds = 0;  // of the run so far
  };
  struct StepResult {
    float rate = 0;  // of the first learner
    std::int64_t items = 0;
    int signal = 0;      // that asks any process to stop
    double seconds = 0;  // by the clock of rank 0
  };
  // At the rates of step `scheduled`.
  StepResult run(const StepInput& now, std::int64_t scheduled);

  // Sums since they were cleared: of the loss, and of its parts by these names. Waits for the device.
  std::vector<float> losses();
  void clear_losses() { backend_.fill(loss_sums_, 0); }
  const std::vector<std::string>& names() const { return names_; }
  double gradient_norm() const { return static_cast<double>(download(optimizers_[0]->norm())[0]); }

  // What is evaluated, shown and kept is the average, where there is one; done again, training goes on.
  void exchange_averages();
  bool averages_whole() const { return !optimizers_.back()->in_parts(); }
  // Masters in shards, and whole for a while.
  void keep_parts();
  void make_whole();
  void save(RunFolder& folder, const RunState& state);

  DistributedStep& distributed_step() { return distributed_; }
  const DistributedStep& distributed_step() const { return distributed_; }
  const std::vector<nn::Parameters*>& parameters() const { return parameters_; }
  std::size_t activation_bytes() { return pass_.arena().slab_bytes(); }

 private:
  void run_batch(std::size_t who, std::int64_t i, std::uint64_t batch, const StepInput& now);
  void agree();
  bool sends_early() const;
  void update(std::size_t who);
  std::uint64_t batches_per_step() const;
  void others_learn(std::size_t who, bool on);
  void learn(std::size_t who, bool first, const std::uint64_t* exchanged);
  void add_up(std::size_t index, const Tensor& value, float share);

  Task& task_;
  const std::vector<OptimizerTurn>& learners_;
  const TrainerOptions& options_;
  Backend& backend_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::vector<std::unique_ptr<GradientBuckets>> buckets_;
  std::vector<OptimizedParameters> learning_;
  std::vector<nn::Parameters*> parameters_;
  std::vector<Storage*> paused_;
  DistributedStep distributed_;
  DistributedStep::BatchFacts mine_, agreed_;  // of the batch at hand, and on it
  bool asked_ = false;                         // and nobody has read the answer yet
  Pass pass_;
  StepGraph graph_;
  Tensor loss_sums_;                // of the whole, and of its parts
  std::vector<std::string> names_;  // of the parts
  std::int64_t items_ = 0;          // of this step
};

}  // namespace attend::train
