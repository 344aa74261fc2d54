// Conditional batch norm: one gain and one shift per class (de Vries et al. 2017; Miyato & Koyama 2018). It tells a
// generator which class to generate.
//   x [B, H, W, C], classes i32 [B] -> [B, H, W, C]
#pragma once

#include <cstdint>

#include "attend/nn/convolution.h"
#include "attend/nn/parameter.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/linear.h"
#include "attend/ops/resize.h"

namespace attend::nn {

class ConditionalBatchNorm {
 public:
  ConditionalBatchNorm(std::int64_t classes, std::int64_t width)
      : gain_{{classes, width}, {Init::ones}},
        shift_{{classes, width}, {}},
        mean_{{width}, {}, Role::buffer},
        variance_{{width}, {Init::ones}, Role::buffer} {}

  // x is [B, H, W, C]; classes are i32 [B], or mixtures of classes [B, classes].
  Tensor operator()(const Tensor& x, const Tensor& classes) const {
    const bool frozen = !x.pass() || !x.pass()->recording();
    const Tensor y = ops::batch_norm(x, {}, {}, {mean_, variance_}, {.frozen = frozen});  // [B, H, W, C]
    // Spreads a row of a table [classes, C] over the whole image: [B, H, W, C].
    const auto spread = [&](const Parameter& table) {
      const Tensor rows = classes.rank() == 1 ? ops::embedding(classes, table) : ops::matmul(classes, table);
      return ops::resize(rows.reshape({x.dim(0), 1, 1, x.dim(3)}), {x.dim(1), x.dim(2)}, {.mode = ResizeMode::nearest});
    };
    return ops::add(ops::multiply(y, spread(gain_)), spread(shift_));
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("bn.running_mean", mean_), v("bn.running_var", variance_), v("gain.weight", gain_), v("shift.weight", shift_);
  }

 private:
  Parameter gain_, shift_, mean_, variance_;
};

}  // namespace attend::nn
