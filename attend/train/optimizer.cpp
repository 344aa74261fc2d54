#include "attend/train/optimizer.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::train {

Optimizer::Optimizer(nn::Parameters& parameters, const OptimizerOptions& options)
    : parameters_(parameters), options_(options) {
  const Tensor& gradient = parameters.gradient();
  check(gradient.defined(), "optimizer: these parameters were made without gradients");
  Backend& backend = gradient.backend();
  first_ = make_tensor(backend, gradient.shape(), DType::f32);
  backend.fill(first_, 0);
  if (options.kind == OptimizerOptions::adamw) {
    second_ = make_tensor(backend, gradient.shape(), DType::f32);
    backend.fill(second_, 0);
  }
  rate_ = make_tensor(backend, {4}, DType::f32);
  norm_ = make_tensor(backend, {2}, DType::f32);
}

void Optimizer::set_rate(float rate, std::int64_t step) {
  check(step >= 1, "optimizer: steps count from 1, not {}", step);
  host_rate_[0] = rate;
  host_rate_[1] = static_cast<float>(1 - std::pow(static_cast<double>(options_.beta1), static_cast<double>(step)));
  host_rate_[2] = static_cast<float>(1 - std::pow(static_cast<double>(options_.beta2), static_cast<double>(step)));
  rate_.backend().to_device_async(rate_.raw(), host_rate_, sizeof host_rate_);
}

void Optimizer::update() {
  const Tensor& gradient = parameters_.gradient();
  gradient.backend().gradient_norm(gradient, options_.clip_norm, norm_);
  const std::int64_t all = gradient.size();
  const std::int64_t reached = options_.decayed == OptimizerOptions::everything ? all : parameters_.decayed();
  const std::int64_t decayed = options_.weight_decay > 0 ? reached : 0;
  update_part(0, decayed, options_.weight_decay);
  update_part(decayed, all - decayed, 0);
}

void Optimizer::update_part(std::int64_t begin, std::int64_t count, float weight_decay) {
  if (count == 0) return;
  const auto part = [&](const Tensor& flat) { return flat.slice_first(begin, count); };
  const attend::Optimizer args{.value = part(parameters_.value()),
                               .master = part(parameters_.master()),
                               .gradient = part(parameters_.gradient()),
                               .rate = rate_,
                               .norm = norm_,
                               .weight_decay = weight_decay};
  Backend& backend = rate_.backend();
  if (options_.kind == OptimizerOptions::adamw)
    backend.adamw(args, options_.beta1, options_.beta2, options_.eps, part(first_), part(second_));
  else
    backend.sgd(args, options_.momentum, part(first_));
}

}  // namespace attend::train
