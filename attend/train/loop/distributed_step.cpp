#include "attend/train/loop/distributed_step.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"
#include "attend/world/nccl/nccl_sums.h"

namespace attend::train {

namespace {

std::span<float> host_numbers(const Tensor& flat) {
  return {static_cast<float*>(flat.raw()), static_cast<std::size_t>(flat.size())};
}

}  // namespace

DistributedStep::DistributedStep(world::World& world, Backend& backend, const DistributedOptions& options)
    : world_(world), options_(options), courier_(world) {
  if (!backend.on_host())
    device_ = world::open_nccl(world, {.device = backend.device_number(), .stream = backend.native_stream()});
  carried_ = distributed() && backend.on_host() && world.carried();
  if (distributed()) share_ = make_tensor(backend, {1}, DType::f32);
  check(!distributed() || !options.sync_batch_norm || backend.on_host() || device_,
        "training: batch norm over several GPUs (--sync-batch-norm) needs NCCL (docs/many-machines.md)");
}

world::Part DistributedStep::part_of(std::int64_t size) const {
  return options_.shard_optimizer ? world::part_of_rank(size, world_.rank(), world_.size()) : world::Part{0, size};
}

void DistributedStep::start_agreeing(const BatchFacts& mine, float times) {
  mine_ = agreed_ = mine, times_ = times;
  if (!distributed()) return;
  const auto agree = [this](world::World& world) {
    // A shape that was not there before is nobody else's.
    const double shape = mine_.shape >= 0 ? mine_.shape : -1.0 - world.rank();
    std::vector<double> sums = {static_cast<double>(mine_.items), mine_.signal != 0 ? 1.0 : 0.0,
                                world.is_root() ? mine_.seconds : 0.0, shape, shape * shape};
    const auto others = static_cast<std::ptrdiff_t>(sums.size());
    sums.insert(sums.end(), mine_.weights.begin(), mine_.weights.end());
    world.all_reduce(std::span<double>(sums));
    const int signal = mine_.signal != 0 ? mine_.signal : SIGTERM;
    agreed_ = {.weights = {sums.begin() + others, sums.end()},
               .items = static_cast<std::int64_t>(sums[0]),
               .signal = sums[1] > 0 ? signal : 0,
               .seconds = sums[2],
               .alike = sums[3] * sums[3] == sums[4] * world.size()};
  };
  if (carried_)
    courier_.post(agree);
  else
    agree(world_);
}

DistributedStep::BatchFacts DistributedStep::agreed() {
  if (!distributed()) return agreed_;
  if (carried_) courier_.wait();
  const double all = agreed_.weights.at(0);
  check(all > 0, "training: the batches of all {} processes are empty", world_.size());
  upload(share_, std::vector<float>{static_cast<float>(mine_.weights[0] / all) * times_});
  return agreed_;
}

void DistributedStep::sum(const Tensor& values) {
  if (device_) {
    device_->start({.values = values.raw(), .count = static_cast<std::size_t>(values.size())});
    device_->finish();
  } else if (carried_) {
    courier_.post([numbers = host_numbers(values)](world::World& world) { world.all_reduce(numbers); });
    courier_.wait();
  } else {
    sum_by_host(values, world::Wire::f32);
  }
}

void DistributedStep::copy_order(std::span<std::int64_t> order) {
  if (!distributed()) return;
  const auto copy = [order](world::World& world) { world.broadcast(std::as_writable_bytes(order), 0); };
  if (carried_)
    courier_.post(copy);
  else
    copy(world_);
}

void DistributedStep::sum_by_host(const Tensor& values, world::Wire wire) {
  if (values.backend().on_host()) return world_.all_reduce(host_numbers(values), wire);
  std::vector<float> numbers = download(values);
  world_.all_reduce(std::span<float>(numbers), wire);
  upload(values, numbers);
}

// Where a window of gradients lies in bf16: at the same place every time, as a captured step needs it.
Tensor DistributedStep::rounded(const Tensor& gradients) {
  Tensor& flat = rounded_[gradients.storage()];
  const auto all = static_cast<std::int64_t>(gradients.storage()->bytes / sizeof(float));
  if (!flat.defined()) flat = make_tensor(gradients.backend(), {all}, DType::bf16);
  return flat.slice_first(gradients.window().offset, gradients.size());
}

void DistributedStep::start_sum(const Tensor& gradients) {
  if (device_ && options_.wire == world::Wire::bf16) {
    const Tensor sent = rounded(gradients);
    gradients.backend().scale(gradients, 1, {sent});
    device_->start({.values = sent.raw(), .count = static_cast<std::size_t>(sent.size()), .wire = world::Wire::bf16});
    waiting_.push_back(gradients);
  } else if (device_) {
    device_->start({.values = gradients.raw(), .count = static_cast<std::size_t>(gradients.size())});
  } else if (carried_) {
    courier_.post([numbers = host_numbers(gradients), wire = options_.wire](world::World& world) {
      world.all_reduce(numbers, wire);
    });
  } else {
    waiting_.push_back(gradients);
  }
}

void DistributedStep::finish_sums(const nn::Parameters& parameters) {
  const Tensor& buffers = parameters.buffers();
  if (device_) {
    if (buffers.defined()) device_->start({.values = buffers.raw(), .count = static_cast<std::size_t>(buffers.size())});
    device_->finish();
    for (const Tensor& gradients : waiting_) gradients.backend().scale(rounded(gradients), 1, {gradients});
  } else {
    if (carried_) courier_.wait();
    for (const Tensor& gradients : waiting_) sum_by_host(gradients, options_.wire);
    if (buffers.defined()) sum_by_host(buffers, world::Wire::f32);
  }
  waiting_.clear();
  if (buffers.defined() && distributed())
    buffers.backend().scale(buffers, 1.0f / static_cast<float>(world_.size()), {buffers});
}

void DistributedStep::gather_parts(const Tensor& flat, const world::Part& own) {
  const auto size = static_cast<std::size_t>(world_.size());
  const auto most = static_cast<std::size_t>(world::part_of_rank(flat.size(), 0, world_.size()).count);
  const std::size_t width = bytes_of(flat.dtype()), bytes = most * width;
  std::vector<std::byte> mine(bytes), all(bytes * size);
  Backend& backend = flat.backend();
  if (own.count > 0)
    backend.to_host(mine.data(), flat.slice_first(own.begin, own.count).raw(),
                    static_cast<std::size_t>(own.count) * width);
  world_.all_gather(mine, all);
  backend.to_device(flat.raw(), all.data(), static_cast<std::size_t>(flat.size()) * width);
}

// Those of bf16 travel as such: what they are rounded from stays with who updates it.
void DistributedStep::share_updates(const nn::Parameters& parameters) {
  if (!distributed() || !options_.shard_optimizer) return;
  const Tensor& value = parameters.value();
  if (device_)
    device_->gather(value.raw(), value.size(), value.dtype() == DType::bf16 ? world::Wire::bf16 : world::Wire::f32);
  else
    gather_parts(value, part_of(value.size()));
}

void DistributedStep::make_whole(nn::Parameters& parameters) {
  if (parameters.make_masters_whole()) gather_parts(parameters.master(), part_of(parameters.master().size()));
}

void DistributedStep::make_whole(Optimizer& optimizer) {
  if (!distributed() || !options_.shard_optimizer) return;
  for (const Tensor& moment : optimizer.whole_moments()) gather_parts(moment, part_of(moment.size()));
}

void DistributedStep::keep_part(nn::Parameters& parameters) const {
  if (!distributed() || !options_.shard_optimizer) return;
  const world::Part part = part_of(parameters.value().size());
  parameters.keep_masters(part.begin, part.count);
}

void DistributedStep::collect(const Tensor& sums) {
  if (!distributed()) return;
  sum_by_host(sums, world::Wire::f32);
  if (!is_root()) sums.backend().fill(sums, 0);
}

void DistributedStep::copy_from_first(nn::Parameters& parameters) {
  std::vector<float> numbers = download(parameters.master());
  world_.broadcast(std::as_writable_bytes(std::span<float>(numbers)), 0);
  if (is_root()) return;
  upload(parameters.master(), numbers);
  parameters.master_changed();
}

void DistributedStep::tell(std::span<double> found) {
  if (!distributed()) return;
  world_.barrier_after_work();
  world_.broadcast(std::as_writable_bytes(found), 0);
}

DistributedStep::Messages DistributedStep::messages() const {
  const double seconds = world_.seconds();
  return {.seconds = seconds, .waited = std::max(0.0, seconds - courier_.busy()) + courier_.waited()};
}

}  // namespace attend::train
