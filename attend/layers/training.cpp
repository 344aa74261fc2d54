#include "attend/layers/training.h"

#include <cmath>
#include <utility>

#include "attend/layers/inner.h"
#include "attend/layers/parameter_record.h"
#include "attend/train/loop/optimizer.h"
#include "attend/train/loop/schedule.h"

namespace attend::layers {

namespace {

train::OptimizerOptions options_of(const OptimizerOptions& options) {
  check(options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1,
        "optimizer: beta1 {} and beta2 {} must be in [0, 1)", options.beta1, options.beta2);
  return {.kind = options.kind == OptimizerOptions::sgd ? train::OptimizerOptions::sgd : train::OptimizerOptions::adamw,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .eps = options.eps,
          .weight_decay = options.weight_decay,
          .decayed = train::OptimizerOptions::everything,
          .momentum = {.share = options.momentum, .nesterov = options.nesterov},
          .clip_norm = options.clip_norm};
}

}  // namespace

struct [[gnu::visibility("hidden")]] OptimizerState {
  OptimizerState(std::shared_ptr<ParametersState> of, const OptimizerOptions& options)
      : parameters(std::move(of)),
        inner(*parameters->inner, options_of(options)),
        schedule(options.schedule ? options.schedule : constant(options.rate)) {}

  std::shared_ptr<ParametersState> parameters;
  train::Optimizer inner;
  Schedule schedule;
  std::int64_t steps = 0;
  float rate = 0;
};

Schedule constant(float rate) {
  return [rate](std::int64_t) { return rate; };
}
Schedule cosine(float peak, std::int64_t warmup, std::int64_t steps, float floor) {
  return train::Cosine{.warmup = warmup, .steps = steps, .peak = peak, .floor = floor};
}
Schedule linear_decay(float peak, std::int64_t warmup, std::int64_t steps) {
  return train::Linear{.warmup = warmup, .steps = steps, .peak = peak};
}
Schedule inverse_square_root(float peak, std::int64_t warmup) {
  return train::InverseSquareRoot{.warmup = warmup, .peak = peak};
}

Optimizer::Optimizer(const Parameters& parameters, const OptimizerOptions& options)
    : state_(std::make_shared<OptimizerState>(parameters.state_, options)) {}

void Optimizer::step() {
  ParametersState& parameters = *state_->parameters;
  const Turn turn("optimizer", *parameters.device.backend());
  parameters.check_owner();
  bool any = false;
  for (const auto& record : parameters.records) any |= record->inner.value.storage()->written;
  check(any, "optimizer: no gradient has arrived since the last step; call backward() first");
  state_->rate = state_->schedule(++state_->steps);
  parameters.inner->finish_gradients();
  state_->inner.set_rate(state_->rate, state_->steps);
  state_->inner.update();
  parameters.inner->start_gradients();
}

std::int64_t Optimizer::steps() const { return state_->steps; }
float Optimizer::rate() const { return state_->rate; }
const Device& Optimizer::device() const { return state_->parameters->device; }

float Optimizer::gradient_norm() const {
  check(state_->steps > 0, "optimizer: there was no step yet");
  return download(state_->inner.norm())[0];
}

float fit(Optimizer& optimizer, const FitOptions& options,
          const std::function<Tensor(Tape& tape, std::int64_t step)>& loss) {
  check(options.steps >= 0 && options.every > 0, "fit: {} steps, reported every {}", options.steps, options.every);
  Tape tape(optimizer.device(), options.seed);
  float last = 0;
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const bool reports = step % options.every == 0 || step == options.steps;
    const Tensor now = loss(tape, step);
    now.backward();
    if (reports) {
      last = now.item();
      check(std::isfinite(last), "fit: the loss of step {} is {}", step, last);
    }
    optimizer.step();
    if (reports && options.on_progress && !options.on_progress({step, last, optimizer.rate()})) break;
  }
  return last;
}

}  // namespace attend::layers
