// What a training loop does in common with the other processes of its world. Each takes a batch of its own; the mean
// loss over all of them is the sum of their means, each times its share of the tokens (or pictures), and so is the
// gradient: N processes with a batch each do what one does with all N in one batch.
#pragma once

#include <cstdint>

#include "attend/nn/parameters.h"
#include "attend/tensor/tensor.h"
#include "attend/world/world.h"

namespace attend::train {

class Together {
 public:
  Together(World& world, Backend& backend);

  bool several() const { return world_.size() > 1; }
  bool leads() const { return world_.leads(); }
  World& world() { return world_; }

  // What a process knows of its batch before it runs, and then of all batches of this moment.
  struct Moment {
    double weight = 0;
    std::int64_t items = 0;
    int signal = 0;      // that asks to stop; here any of those that came
    double seconds = 0;  // of the run so far, by the clock of rank 0
  };
  // Puts this batch's part of all weights, times so much, where share() is.
  Moment agree(const Moment& mine, float times);
  const Tensor& share() const { return share_; }  // f32 [1]

  // The sum of the gradients; of what is not learned (running statistics) the mean.
  void sum_gradients(const nn::Parameters& parameters);
  // The sum of all, at rank 0; zeros elsewhere, so that they can be added up again.
  void collect(const Tensor& sums);
  // Everybody begins with the numbers of rank 0.
  void copy_from_first(nn::Parameters& parameters);
  // Numbers that rank 0 alone has found, while the others waited.
  void tell(std::span<double> found);

 private:
  void sum(const Tensor& values);

  World& world_;
  Tensor share_;
};

}  // namespace attend::train
