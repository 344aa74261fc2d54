#include "attend/train/together.h"

#include <csignal>
#include <vector>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::train {

namespace {

std::span<float> host_numbers(const Tensor& flat) {
  return {static_cast<float*>(flat.raw()), static_cast<std::size_t>(flat.size())};
}

}  // namespace

Together::Together(World& world, Backend& backend) : world_(world) {
  if (several()) share_ = make_tensor(backend, {1}, DType::f32);
}

Together::Moment Together::agree(const Moment& mine, float times) {
  double sums[] = {mine.weight, static_cast<double>(mine.items), mine.signal != 0 ? 1.0 : 0.0,
                   leads() ? mine.seconds : 0.0};
  world_.all_reduce(std::span<double>(sums));
  check(sums[0] > 0, "training: the batches of all {} processes are empty", world_.size());
  upload(share_, std::vector<float>{static_cast<float>(mine.weight / sums[0]) * times});
  const int signal = mine.signal != 0 ? mine.signal : SIGTERM;
  return {.weight = sums[0],
          .items = static_cast<std::int64_t>(sums[1]),
          .signal = sums[2] > 0 ? signal : 0,
          .seconds = sums[3]};
}

void Together::sum(const Tensor& values) {
  if (values.backend().on_host()) return world_.all_reduce(host_numbers(values));
  std::vector<float> numbers = download(values);
  world_.all_reduce(std::span<float>(numbers));
  upload(values, numbers);
}

void Together::sum_gradients(const nn::Parameters& parameters) {
  sum(parameters.gradient());
  if (!parameters.buffers().defined()) return;
  sum(parameters.buffers());
  const float part = 1.0f / static_cast<float>(world_.size());
  parameters.buffers().backend().scale(parameters.buffers(), part, {parameters.buffers()});
}

void Together::collect(const Tensor& sums) {
  if (!several()) return;
  sum(sums);
  if (!leads()) sums.backend().fill(sums, 0);
}

void Together::copy_from_first(nn::Parameters& parameters) {
  std::vector<float> numbers = download(parameters.master());
  world_.broadcast(std::as_writable_bytes(std::span<float>(numbers)), 0);
  if (leads()) return;
  upload(parameters.master(), numbers);
  parameters.master_changed();
}

void Together::tell(std::span<double> found) {
  if (!several()) return;
  world_.barrier_after_work();
  world_.broadcast(std::as_writable_bytes(found), 0);
}

}  // namespace attend::train
