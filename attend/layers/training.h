// Optimisers, schedules of the learning rate, and a loop that uses both.
//
//   nn::Optimizer optimizer(parameters, {.rate = 1e-3f});
//   nn::fit(optimizer, {.steps = 100}, [&](nn::Tape& tape, std::int64_t) { return loss_of(tape.input(batch)); });
//
// which is short for
//
//   nn::Tape tape(device);
//   for (std::int64_t step = 1; step <= 100; ++step) {
//     loss_of(tape.input(batch)).backward();
//     optimizer.step();
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "attend/layers/parameters.h"
#include "attend/layers/tensor.h"

namespace attend::layers {

// The learning rate of a step, counted from 1.
using Schedule = std::function<float(std::int64_t step)>;

Schedule constant(float rate);
// Up linearly for `warmup` steps to `peak`, then half a cosine down to `floor` at `steps` (Loshchilov & Hutter 2017).
Schedule cosine(float peak, std::int64_t warmup, std::int64_t steps, float floor = 0);
// Up linearly, then down linearly to 0 at `steps` (Devlin et al. 2019).
Schedule linear_decay(float peak, std::int64_t warmup, std::int64_t steps);
// Up linearly, then down with the inverse square root (Vaswani et al. 2017, section 5.3).
Schedule inverse_square_root(float peak, std::int64_t warmup);

struct OptimizerOptions {
  enum Kind : std::uint8_t { adamw, sgd } kind = adamw;
  float rate = 1e-3f;  // used if there is no schedule
  Schedule schedule = {};
  float beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f;  // adamw
  float weight_decay = 0;                           // reaches everything, as in torch
  float momentum = 0;                               // sgd
  bool nesterov = false;                            // sgd: Nesterov's momentum
  float clip_norm = 0;                              // largest norm of all gradients together; 0: any
};

struct OptimizerState;  // the library's own

// AdamW (Loshchilov & Hutter 2019; without decay it is Adam, Kingma & Ba 2015) or SGD with momentum.
class Optimizer {
 public:
  explicit Optimizer(const Parameters& parameters, const OptimizerOptions& options = {});

  // Applies the gradients of all backward() since the last step, and forgets them. Nothing changes if they are not
  // finite. Throws Error if there were none.
  void step();
  std::int64_t steps() const;   // so far
  float rate() const;           // of the last step
  float gradient_norm() const;  // of the last step, before clipping; waits for the device
  const Device& device() const;

 private:
  std::shared_ptr<OptimizerState> state_;
};

struct Progress {
  std::int64_t step = 0;
  float loss = 0, rate = 0;
};

struct FitOptions {
  std::int64_t steps = 1000;
  std::uint64_t seed = 1;  // of dropout
  // Called after every `every` steps with the loss of that step; false leaves the loop.
  std::int64_t every = 1;
  std::function<bool(const Progress&)> on_progress = {};
};

// Repeats: loss(tape, step), backward, update. Throws Error if a loss is not finite. Returns the last loss.
float fit(Optimizer& optimizer, const FitOptions& options,
          const std::function<Tensor(Tape& tape, std::int64_t step)>& loss);

}  // namespace attend::layers
