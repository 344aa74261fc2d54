// The training loop: steps, logs, validation, early stopping, checkpoints, exact resume. It knows no model: what is
// trained is a Task.
//
// A run lives in a folder:
//   model.safetensors   the weights to use: the best so far, and at the end the average if that is better
//   state.safetensors   everything that decides the rest of the run: masters, moments, step, place in the data
//   checkpoints/        weights of the last validations, for averaging
//   log.jsonl           one JSON line a log interval and a validation
//   curves.csv, events.out.tfevents   the same as a table, and for TensorBoard
//   look.jsonl          with TrainerOptions::look: a line now and then of what the model makes of fixed inputs
//   run.json            what of all this the run wrote (manifest.h)
// Each file is replaced atomically, and the state is written last, so a run killed at any moment and resumed ends with
// the same bits as one never stopped (run_folder.h).
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/data/shard.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"
#include "attend/train/loop/distributed_step.h"
#include "attend/train/loop/example.h"
#include "attend/train/loop/optimizer.h"
#include "attend/train/loop/run_folder.h"
#include "attend/world/world.h"

namespace attend::train {

struct Validation {
  double loss = 0;   // nats a token
  double score = 0;  // higher is better: BLEU, accuracy, or -loss; decides which weights are best. Of two with the same
                     // score those with the lower loss are
  std::string text;  // for a person: "loss 1.23, BLEU 40.1"
  Json json;         // for the log
};

// What is learned from a batch: the mean loss, f32 [1], and the parts of it that the log names ("class", "box").
struct Loss {
  Loss(Tensor whole) : total(std::move(whole)) {}  // NOLINT: most losses have no parts
  Loss(Tensor whole, std::vector<std::pair<std::string, Tensor>> named)
      : total(std::move(whole)), parts(std::move(named)) {}

  Tensor total;
  std::vector<std::pair<std::string, Tensor>> parts;  // the same names every time, at most kMostParts
  static constexpr std::size_t kMostParts = 15;
};

class Task {
 public:
  virtual ~Task() = default;
  // The learner of this number learns from the batches that follow; the others stay as they are. For tasks with
  // several, which take turns (a GAN).
  virtual void begin_turn(std::size_t /*learner*/) {}
  // Before the batches of a step: how much of the run is done with it, above 0 and up to 1.
  virtual void progress(double /*share*/) {}
  // Puts the next batch on the device, where loss() reads it; returns the key of its shape (see StepGraph).
  virtual std::uint64_t next_batch() = 0;
  virtual std::int64_t batch_items() const = 0;           // of that batch, for the rate
  virtual std::string items() const { return "tokens"; }  // what they are: tokens, images

  // Of the batch in place. Must not touch the host: it is captured. A task that needs the host on the way (a matcher)
  // says so: forward() is captured and leaves what the host needs outside the pass, on_host() runs every time and puts
  // its answer there, too, and loss() goes on from the same tape.
  virtual Loss loss(Pass& pass) = 0;
  virtual bool needs_host() const { return false; }
  virtual void forward(Pass&) {}
  virtual void on_host() {}

  // How much the mean of this batch counts beside those that other processes take at the same time: of how many tokens
  // or images it is one. A loss with parts that are means of something else has more such numbers behind that; then
  // weigh(), in front of on_host() and of loss(), has them and those of all batches: a part that is a mean of m of M
  // counts m / M of all in the end, where it is multiplied by (m / M) / (w / W) of the first. Alone they are the same.
  virtual std::vector<double> batch_weights() const { return {static_cast<double>(batch_items())}; }
  virtual void weigh(std::span<const double> /*own*/, std::span<const double> /*all*/) {}
  // Where several processes learn together, which batches are this one's. Before the first; seek() keeps it.
  virtual void take_shard(const data::Shard&) { fail("training: several processes cannot learn this together"); }

  // Where the batches stand, for an exact resume: the same for all processes.
  virtual Json position() const = 0;
  virtual void seek(const Json& position) = 0;
  // With the weights as they are now: by all processes of a world, each with a part of the batches (shared_batches.h),
  // to the same numbers as by one.
  virtual Validation validate(world::World& world) = 0;
  // The same few inputs every time, and what the model makes of them now, for whoever watches. Must change nothing that
  // the run computes.
  virtual std::vector<Example> examples(const ExampleLimits&) { return {}; }
  // Validation data with what the model says of it, with the weights as they are now; empty where a task has none.
  virtual std::vector<ScoredExample> scored_examples() { return {}; }
};

// Parameters with an optimiser of their own. Several take turns in every step, in this order.
struct OptimizerTurn {
  nn::Parameters* parameters = nullptr;
  OptimizerOptions optimizer = {};
  std::function<float(std::int64_t step)> rate = {};
  std::int64_t turns = 1;  // per step
  std::string name = {};   // in the run's state; of a single one nothing
};

struct TrainerOptions {
  RunFolder* folder = nullptr;  // a run that is resumed goes on from the state in it
  std::int64_t steps = 1000;
  double minutes = 0;           // above 0: ends after so long, the schedule of `steps` stretched over that time
  std::int64_t accumulate = 1;  // batches a step
  std::uint64_t seed = 1;
  std::function<float(std::int64_t step)> rate = {};
  OptimizerOptions optimizer = {};
  std::int64_t log_every = 50, validate_every = 500, save_every = 500;
  std::int64_t patience = 0;  // validations without a better score before stopping; 0: never
  std::int64_t average = 5;   // how many of the last checkpoints are averaged in the end
  Recompute recompute = Recompute::none;
  double flops_per_item = 0;   // counted, of a forward and a backward pass, for the log; 0: nobody has counted
  Painter* painter = nullptr;  // records the task's examples on the way, for at most a fiftieth of the time
  // Asked after every step of a run of one process: true ends it as Ctrl-C does.
  std::function<bool()> stopped = {};
  std::ostream* messages = nullptr;
  Terminal terminal = {};
  world::World* world = &world::alone();  // the processes that learn together, each from batches of its own
  DistributedOptions distributed = {};
};

struct TrainingResult {
  std::int64_t steps = 0;
  int interrupted = 0;  // the signal, Ctrl-C's or another: the state is saved, resume goes on
  bool stopped_early = false;
  bool averaged = false;  // the average of the last checkpoints was the best
  double seconds = 0;
  double flops = 0;                  // counted, of all steps; 0: nobody has counted
  std::size_t activation_bytes = 0;  // of a step, activations and their gradients together; 0 before two steps
  Validation best;
};

// Trains until done, out of patience or interrupted. On return parameters hold the best weights (unless interrupted).
// Throws Error when the loss is not a number any more; the last good state and model stay as they are.
// options.optimizer and options.rate are for a single learner.
TrainingResult train(Task& task, nn::Parameters& parameters, const TrainerOptions& options);
TrainingResult train(Task& task, const std::vector<OptimizerTurn>& learners, const TrainerOptions& options);

}  // namespace attend::train
