// Layers of pictures [B, H, W, C]: convolution, and the batch norm behind it.
#pragma once

#include <cstdint>
#include <optional>

#include "attend/nn/parameter.h"
#include "attend/ops/convolution.h"
#include "attend/ops/picture_norm.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

struct Conv2dConfig {
  Extent2 kernel = {};
  Convolution window = {};        // stride, padding, dilation, groups
  std::optional<Init> init = {};  // of the weight; He et al.'s by what reads it, unless told
  bool bias = true;
};

class Conv2d {
 public:
  Conv2d(std::int64_t in, std::int64_t out, const Conv2dConfig& config)
      : weight_{{out, config.kernel.h, config.kernel.w, in / config.window.groups},
                config.init.value_or(Init::he(config.kernel.h * config.kernel.w * out / config.window.groups)),
                Role::convolution},
        bias_{{out}, {}},
        config_(config) {}

  Tensor operator()(const Tensor& x) const {
    return ops::conv2d(x, weight_, config_.bias ? bias_ : Parameter{}, config_.window);
  }
  const Conv2dConfig& config() const { return config_; }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_);
    if (config_.bias) v("bias", bias_);
  }

 private:
  Parameter weight_, bias_;
  Conv2dConfig config_;
};

// By the batch's statistics in a pass that records, by the running ones in any other, or in all when frozen.
class BatchNorm {
 public:
  explicit BatchNorm(std::int64_t width, const ops::BatchNormOptions& options = {})
      : weight_{{width}, {Init::ones}},
        bias_{{width}, {}},
        mean_{{width}, {}, Role::buffer},
        variance_{{width}, {Init::ones}, Role::buffer},
        options_(options) {}

  Tensor operator()(const Tensor& x) const {
    ops::BatchNormOptions options = options_;
    if (!x.pass() || !x.pass()->recording()) options.frozen = true;
    return ops::batch_norm(x, weight_, bias_, {mean_, variance_}, options);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_), v("bias", bias_), v("running_mean", mean_), v("running_var", variance_);
  }

 private:
  Parameter weight_, bias_, mean_, variance_;
  ops::BatchNormOptions options_;
};

}  // namespace attend::nn
