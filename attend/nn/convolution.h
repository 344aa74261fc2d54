// Layers for images [B, H, W, C], channels last: convolution, batch norm (Ioffe & Szegedy 2015), and both fused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attend/nn/parameter.h"
#include "attend/ops/convolution.h"
#include "attend/ops/image_norm.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

struct Conv2dConfig {
  Extent2 kernel = {};
  Convolution window = {};        // stride, padding, dilation, groups
  std::optional<Init> init = {};  // initial weight; He et al. 2015 (fan out) by default
  bool bias = true;
};

// [B, H, W, in] -> [B, H', W', out]
class Conv2d {
 public:
  Conv2d(std::int64_t in, std::int64_t out, const Conv2dConfig& config)
      : weight_{{out, config.kernel.h, config.kernel.w, in / config.window.groups},
                config.init.value_or(Init::he(config.kernel.h * config.kernel.w * out / config.window.groups)),
                config.window.groups == 1 ? Role::convolution : Role::plain_convolution},
        bias_{{out}, {}},
        config_(config) {}

  Tensor operator()(const Tensor& x) const {
    return ops::conv2d(x, weight_, config_.bias ? bias_ : Parameter{}, config_.window);
  }
  // The same with another bias, followed by a sum with residual (if defined) and an activation.
  Tensor operator()(const Tensor& x, const Tensor& bias, Activation activation, const Tensor& residual = {}) const {
    return ops::conv2d(x, weight_, bias, config_.window, activation, residual);
  }
  const Conv2dConfig& config() const { return config_; }
  // Multiplies the weight of each output channel by its factor, in place.
  void scale_outputs(std::span<const float> factors);
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_);
    if (config_.bias) v("bias", bias_);
  }

 private:
  Parameter weight_, bias_;
  Conv2dConfig config_;
};

// Batch norm. A recording pass uses the batch's statistics, others use the running ones; a frozen norm always does.
class BatchNorm {
 public:
  explicit BatchNorm(std::int64_t width, const ops::BatchNormOptions& options = {})
      : weight_{{width}, {Init::ones}},
        bias_{{width}, {}},
        mean_{{width}, {}, Role::buffer},
        variance_{{width}, {Init::ones}, Role::buffer},
        options_(options) {}

  // activation(norm(x) + residual), where there is a residual.
  Tensor operator()(const Tensor& x, Activation activation = Activation::none, const Tensor& residual = {}) const {
    ops::BatchNormOptions options = options_;
    if (!x.pass() || !x.pass()->recording()) options.frozen = true;
    return ops::batch_norm(x, weight_, bias_, {mean_, variance_}, options, activation, residual);
  }
  const Tensor& bias() const { return bias_; }
  // Moves the scale out of the norm: returns the factor of each channel. The norm itself then only adds its bias.
  std::vector<float> fold();
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_), v("bias", bias_), v("running_mean", mean_), v("running_var", variance_);
  }

 private:
  Parameter weight_, bias_, mean_, variance_;
  ops::BatchNormOptions options_;
};

// activation(norm(convolution(x)) + residual), where there is a residual. For inference, fold() moves the norm's scale
// into the convolution's weight and the rest into its bias, so that everything is one kernel. Parameters and buffers
// then still describe the same function. So it needs no extra memory, and a recording pass still works.
class ConvNorm {
 public:
  ConvNorm(std::int64_t in, std::int64_t out, Conv2dConfig config, const ops::BatchNormOptions& options = {})
      : convolution_(in, out, without_bias(config)), normalization_(out, options) {}

  Tensor operator()(const Tensor& x, Activation activation, const Tensor& residual = {}) const {
    if (folded_ && !(x.pass() && x.pass()->recording()))
      return convolution_(x, normalization_.bias(), activation, residual);
    return normalization_(convolution_(x), activation, residual);
  }
  // Folds the norm and waits for the device. Call it when the weights are loaded and no longer trained; a second call
  // does nothing.
  void fold();
  template <class Visitor>
  void visit(Visitor&& v) {
    v("convolution", convolution_), v("normalization", normalization_);
  }

 private:
  static Conv2dConfig without_bias(Conv2dConfig config) {
    config.bias = false;
    return config;
  }
  Conv2d convolution_;
  BatchNorm normalization_;
  bool folded_ = false;
};

// Calls fold() on every ConvNorm of a module.
template <class Module>
void fold_norms(Module& module) {
  module.visit([]<class Member>(std::string_view, Member&& member) {
    using Type = std::remove_cvref_t<Member>;
    if constexpr (std::is_same_v<Type, ConvNorm>) {
      member.fold();
    } else if constexpr (requires { member.begin(); }) {
      for (auto& item : member) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(item)>, ConvNorm>)
          item.fold();
        else
          fold_norms(item);
      }
    } else if constexpr (!std::is_same_v<Type, Parameter> && !std::is_same_v<Type, FileRows>) {
      fold_norms(member);
    }
  });
}

}  // namespace attend::nn
