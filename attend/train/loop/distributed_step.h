// What a training loop does in common with the other processes of its world. Each takes a batch of its own; the mean
// loss over all of them is the sum of their means, each times its share of the tokens (or images), and so is the
// gradient: N processes with a batch each do what one does with all N in one batch.
//
// Gradients are summed in buckets while the backward pass still runs (gradient_buckets.h): on the CPU by a thread that
// carries messages, on a GPU by NCCL beside the stream, also inside a captured step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/tensor.h"
#include "attend/train/loop/gradient_buckets.h"
#include "attend/train/loop/optimizer.h"
#include "attend/world/comm_thread.h"
#include "attend/world/device_sums.h"
#include "attend/world/world.h"

namespace attend::train {

struct DistributedOptions {
  world::Wire wire = world::Wire::f32;  // how gradients travel
  // Every process keeps moments, averages and f32 masters of its part of the weights only (ZeRO-1).
  bool shard_optimizer = false;
  bool sync_batch_norm = false;  // batch norm has its statistics from the batches of all processes
};

class DistributedStep : public BatchSums {
 public:
  DistributedStep(world::World& world, Backend& backend, const DistributedOptions& options);

  bool distributed() const { return world_.size() > 1; }
  bool is_root() const { return world_.is_root(); }
  world::World& world() { return world_; }
  // Whether gradients go through here, and whether that happens in the order of the device's stream.
  bool sums() const { return distributed() || device_; }
  bool in_stream() const { return device_ != nullptr; }
  // Of a flat buffer of so many numbers, what this process updates; all of it where moments are not in shards.
  world::Part part_of(std::int64_t size) const;

  // What a process knows of its batch before it runs, and then of all batches of this moment.
  struct BatchFacts {
    std::vector<double> weights = {};  // the loss's first, then what else its parts are divided by
    std::int64_t items = 0;
    int signal = 0;      // that asks to stop; here any of those that came
    double seconds = 0;  // of the run so far, by the clock of rank 0
    double shape = 0;    // of the batch, a number for each; below 0: one that was not there before
    bool alike = true;   // all are of one shape, which none sees for the first time
  };
  // Puts this batch's part of all weights, times so much, where share() is: on the CPU while the forward pass runs.
  void start_agreeing(const BatchFacts& mine, float times);
  BatchFacts agreed();
  const Tensor& share() const { return share_; }  // f32 [1]

  // Of this pass's numbers and everybody's at the same place, at once: for statistics over all batches.
  int processes() const override { return world_.size(); }
  void sum(const Tensor& values) override;

  // Everybody has what rank 0 has; in place behind the next finish_sums().
  void copy_order(std::span<std::int64_t> order);
  // Gradients that are complete; then the end of all of them: the sums are there, and of what is not learned (running
  // statistics) the mean.
  void start_sum(const Tensor& gradients);
  void finish_sums(const nn::Parameters& parameters);
  // Everybody has updated its part of the weights: all get what the model computes with.
  void share_updates(const nn::Parameters& parameters);
  // Masters, moments and averages that are in shards, whole for as long as they are saved; and in shards (again).
  void make_whole(nn::Parameters& parameters);
  void make_whole(Optimizer& optimizer);
  void keep_part(nn::Parameters& parameters) const;

  // The sum of all, at rank 0; zeros elsewhere, so that they can be added up again.
  void collect(const Tensor& sums);
  // Everybody begins with the numbers of rank 0.
  void copy_from_first(nn::Parameters& parameters);
  // Numbers that rank 0 alone has found, while the others waited.
  void tell(std::span<double> found);

  // Seconds so far: in messages, and of them those in which nothing else was done.
  struct Messages {
    double seconds = 0, waited = 0;
  };
  Messages messages() const;

 private:
  void sum_by_host(const Tensor& values, world::Wire wire);
  Tensor rounded(const Tensor& gradients);
  void gather_parts(const Tensor& flat, const world::Part& own);

  world::World& world_;
  DistributedOptions options_;
  world::CommThread courier_;
  bool carried_ = false;
  std::unique_ptr<world::DeviceSums> device_;  // where NCCL sums
  Tensor share_;
  std::map<const Storage*, Tensor> rounded_;  // bf16, for the wire of a device
  std::vector<Tensor> waiting_;               // gradients that nobody carries: summed at the end
  BatchFacts mine_, agreed_;
  float times_ = 1;
};

}  // namespace attend::train
