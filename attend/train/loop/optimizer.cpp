#include "attend/train/loop/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::train {

namespace {

Tensor copy_of(const Tensor& flat) {
  Tensor copy = make_tensor(flat.backend(), flat.shape(), DType::f32);
  flat.backend().scale(flat, 1, {copy});
  return copy;
}

void move_towards(const Tensor& average, const Tensor& now, float decay) {
  if (!average.defined()) return;
  average.backend().scale(average, decay, {average});
  average.backend().scale(now, 1 - decay, {average, true});
}

Tensor zeros_like(const Tensor& flat) {
  Tensor zeros = make_tensor(flat.backend(), flat.shape(), DType::f32);
  flat.backend().fill(zeros, 0);
  return zeros;
}

// The weights go where the average was, which is kept as it is: dividing it and back would not give the same bits.
void put_average(const Tensor& average, const Tensor& now, double shares, Tensor& kept) {
  if (!average.defined()) return;
  kept = copy_of(average);
  average.backend().scale(now, 1, {average});
  average.backend().scale(kept, static_cast<float>(1 / shares), {now});
}

void put_back(const Tensor& average, const Tensor& now, Tensor& kept) {
  if (!average.defined()) return;
  average.backend().scale(average, 1, {now});
  average.backend().scale(kept, 1, {average});
  kept = {};
}

}  // namespace

Optimizer::Optimizer(nn::Parameters& parameters, const OptimizerOptions& options)
    : parameters_(parameters), options_(options) {
  const Tensor& gradient = parameters.gradient();
  check(gradient.defined(), "optimizer: these parameters were made without gradients");
  Backend& backend = gradient.backend();
  part_ = options.part.count > 0 || options.part.begin > 0 ? options.part : world::Part{0, gradient.size()};
  // A part may be empty; a tensor may not.
  const Shape kept{std::max<std::int64_t>(1, part_.count)};
  first_.part = make_tensor(backend, kept, DType::f32);
  backend.fill(first_.part, 0);
  if (options.kind == OptimizerOptions::adamw) second_.part = zeros_like(first_.part);
  const std::int64_t all = gradient.size();
  const std::int64_t reached = options.decayed == OptimizerOptions::everything ? all : parameters.decayed();
  runs_ = learning_runs(parameters, options.groups,
                        {.count = options.weight_decay > 0 ? reached : 0, .rate = options.weight_decay});
  host_rates_.resize(4 * runs_.size());
  rates_ = make_tensor(backend, {static_cast<std::int64_t>(runs_.size()), 4}, DType::f32);
  norm_ = make_tensor(backend, {2}, DType::f32);
  check(options.ema >= 0 && options.ema < 1,
        "optimizer: the decay of an average must be at least 0 and below 1, not {}", options.ema);
  const Lookahead& ahead = options.lookahead;
  check(ahead.every >= 0 && ahead.share >= 0 && ahead.share < 1 && ahead.power >= 0,
        "optimizer: lookahead every {} steps with a share of {} and a power of {}: the share must be at least 0 and "
        "below 1, the others at least 0",
        ahead.every, ahead.share, ahead.power);
  check(ahead.every == 0 || options.ema == 0, "optimizer: lookahead and a moving average exclude each other");
  check(ahead.every == 0 || !in_parts(), "optimizer: lookahead is for one process");
  if (options.ema == 0 && ahead.every == 0) return;
  average_.part = zeros_like(first_.part);
  if (parameters.buffers().defined()) average_buffers_ = zeros_like(parameters.buffers());
}

void Optimizer::set_rate(float rate, std::int64_t step) {
  check(step >= 1, "optimizer: steps count from 1, not {}", step);
  step_ = step;
  if (options_.lookahead.every > 0 && step == 1) begin_slow_weights();
  const auto left = [&](float beta) {
    return static_cast<float>(1 - std::pow(static_cast<double>(beta), static_cast<double>(step)));
  };
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    host_rates_[4 * i] = rate * runs_[i].rate;
    host_rates_[4 * i + 1] = left(options_.beta1), host_rates_[4 * i + 2] = left(options_.beta2);
  }
  rates_.backend().to_device_async(rates_.raw(), host_rates_.data(), host_rates_.size() * sizeof(float));
}

void Optimizer::update() {
  const Tensor& gradient = parameters_.gradient();
  gradient.backend().gradient_norm(gradient, options_.clip_norm, norm_);
  for (std::size_t i = 0; i < runs_.size(); ++i)
    update_run(runs_[i], rates_.slice_first(static_cast<std::int64_t>(i), 1).reshape({4}));
  follow_average();
}

Tensor Optimizer::own_masters() const {
  if (part_.count == 0) return {};
  return parameters_.master().slice_first(part_.begin - parameters_.masters_from(), part_.count);
}

// Not where the optimiser is made: the weights may be drawn or read behind that.
void Optimizer::begin_slow_weights() {
  average_.part.backend().scale(own_masters(), 1, {average_.part});
  if (average_buffers_.defined()) average_buffers_.backend().scale(parameters_.buffers(), 1, {average_buffers_});
}

void Optimizer::look_ahead(std::int64_t step, double progress) {
  const Lookahead& ahead = options_.lookahead;
  if (ahead.every == 0 || step % ahead.every != 0) return;
  const float share = ahead.share * static_cast<float>(std::pow(progress, static_cast<double>(ahead.power)));
  const std::pair<Tensor, Tensor> all[] = {{average_.part, own_masters()}, {average_buffers_, parameters_.buffers()}};
  for (const auto& [slow, fast] : all) {
    if (!slow.defined()) continue;
    move_towards(slow, fast, share);
    slow.backend().scale(slow, 1, {fast});
  }
  parameters_.master_changed();
}

void Optimizer::follow_average() {
  if (options_.ema == 0) return;
  if (part_.count > 0) move_towards(average_.part, own_masters(), options_.ema);
  move_towards(average_buffers_, parameters_.buffers(), options_.ema);
}

std::vector<Tensor> Optimizer::whole_moments() {
  std::vector<Tensor> all;
  for (Kept* const kept : kept_) {
    if (!kept->part.defined() || !in_parts()) continue;
    if (!kept->whole.defined()) {
      kept->whole = zeros_like(parameters_.gradient());
      if (part_.count > 0)
        kept->part.backend().scale(kept->part, 1, {kept->whole.slice_first(part_.begin, part_.count)});
    }
    all.push_back(kept->whole);
  }
  return all;
}

void Optimizer::keep_part() {
  for (Kept* const kept : kept_) {
    if (kept->whole.defined() && part_.count > 0)
      kept->part.backend().scale(kept->whole.slice_first(part_.begin, part_.count), 1, {kept->part});
    kept->whole = {};
  }
}

bool Optimizer::exchange_average() {
  if (!average_.part.defined() || step_ == 0) return false;
  const Tensor none, own = own_masters();
  const Tensor& average = part_.count > 0 ? average_.part : none;
  if (waiting_.defined() || waiting_buffers_.defined()) {
    put_back(average, own, waiting_);
    put_back(average_buffers_, parameters_.buffers(), waiting_buffers_);
  } else {
    // Of slow weights it is 1.
    const double shares = 1 - std::pow(static_cast<double>(options_.ema), static_cast<double>(step_));
    put_average(average, own, shares, waiting_);
    put_average(average_buffers_, parameters_.buffers(), shares, waiting_buffers_);
  }
  parameters_.master_changed();
  return true;
}

void Optimizer::update_run(const ParameterRun& run, const Tensor& rate) {
  const std::int64_t begin = std::max(run.begin, part_.begin), end = std::min(run.begin + run.count, part_.end());
  if (begin >= end) return;
  const auto part = [&](const Tensor& flat) { return flat.slice_first(begin, end - begin); };
  const auto moment = [&](const Tensor& kept) { return kept.slice_first(begin - part_.begin, end - begin); };
  const attend::Optimizer args{
      .value = part(parameters_.value()),
      .master = parameters_.master().slice_first(begin - parameters_.masters_from(), end - begin),
      .gradient = part(parameters_.gradient()),
      .rate = rate,
      .norm = norm_,
      .weight_decay = run.weight_decay};
  Backend& backend = rate.backend();
  if (options_.kind == OptimizerOptions::adamw)
    backend.adamw(args, options_.beta1, options_.beta2, options_.eps, moment(first_.part), moment(second_.part));
  else
    backend.sgd(args, options_.momentum, moment(first_.part));
}

}  // namespace attend::train
