// Better weights from gradients: clipping, then AdamW (Loshchilov & Hutter 2019; with no decay it is Adam, Kingma &
// Ba 2015) or SGD with momentum, each one launch over the flat buffers, or over each part of them that learns in a way
// of its own (parameter_groups.h). What changes from step to step is written to
// device memory by set_rate(); update() itself is the same every step, so it can be part of a captured graph.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tensor.h"
#include "attend/train/loop/parameter_groups.h"
#include "attend/world/part.h"

namespace attend::train {

// Lookahead (Zhang et al. 2019): every so many steps slow weights keep a share of themselves and take the rest from the
// weights, which go on from there. The share grows with a power of the progress of the run (airbench has 3).
struct Lookahead {
  std::int64_t every = 0;  // 0: never
  float share = 0.5f;
  float power = 0;
};

struct OptimizerOptions {
  enum Kind : std::uint8_t { adamw, sgd } kind = adamw;
  float beta1 = 0.9f, beta2 = 0.98f, eps = 1e-9f;  // section 5.3 of Vaswani et al. 2017
  float weight_decay = 0;
  enum Decayed : std::uint8_t { matrices, everything } decayed = matrices;  // what the decay reaches
  Momentum momentum = {};                                                   // sgd
  float clip_norm = 0;                                                      // 0: never
  // Decay of a moving average of the weights (Polyak & Juditsky 1992); 0: there is none. It is one of the weights after
  // each update so far, as Adam's moments are (Kingma & Ba 2015, section 3): what they began as has no part in it.
  float ema = 0;
  Lookahead lookahead = {};                 // instead of a moving average
  std::vector<ParameterGroup> groups = {};  // those that learn otherwise than the rest
  world::Part part = {};                    // of the flat buffers, what is updated here and has moments; 0 of them: all
};

class Optimizer {
 public:
  Optimizer(nn::Parameters& parameters, const OptimizerOptions& options);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Before update(): the learning rate of step number `step`, counted from 1.
  void set_rate(float rate, std::int64_t step);
  // Clips and applies the gradients. Nothing changes when their norm is not finite.
  void update();
  // After update() of this step, at this share of the run. Outside of a captured graph: few steps do something.
  void look_ahead(std::int64_t step, double progress);
  // Whether it keeps moments, and the average of the weights, of a part only. Then others update the rest.
  bool in_parts() const { return part_.count < parameters_.gradient().size(); }

  // f32 [2] on the device: the gradient norm of the last update and the scale it was clipped by.
  const Tensor& norm() const { return norm_; }
  // Puts the average of the weights (slow weights), and of what is not learned, in their place; done again, they are
  // back. Before the first update there is none, and nothing happens: false. Of a part only, where it has no more of
  // them.
  bool exchange_average();
  // What an exact resume must restore: the moments, and the averages, which are slow weights or sums whose weights do
  // not add up to 1 yet; undefined where there are none.
  const Tensor& first_moment() const { return first_.all(); }
  const Tensor& second_moment() const { return second_.all(); }
  const Tensor& average() const { return average_.all(); }
  // What is kept of a part only: as long as all, with that part in place, to be saved or read from a file; until
  // keep_part() takes that part back.
  std::vector<Tensor> whole_moments();
  void keep_part();
  const Tensor& average_buffers() const { return average_buffers_; }

 private:
  struct Kept {
    Tensor part, whole;  // the latter only for a while
    const Tensor& all() const { return whole.defined() ? whole : part; }
  };
  Kept* kept_[3] = {&first_, &second_, &average_};
  Tensor own_masters() const;  // of the part; undefined where that is empty
  void follow_average();
  void begin_slow_weights();
  void update_run(const ParameterRun& run, const Tensor& rate);

  nn::Parameters& parameters_;
  OptimizerOptions options_;
  std::vector<ParameterRun> runs_;
  world::Part part_;
  Kept first_, second_, average_;
  Tensor norm_, average_buffers_;
  Tensor waiting_, waiting_buffers_;  // what average_ and average_buffers_ were, while weights are in their place
  std::int64_t step_ = 0;
  Tensor rates_;  // f32 [runs, 4]
  std::vector<float> host_rates_;
};

}  // namespace attend::train
