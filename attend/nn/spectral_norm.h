// Layers whose weight is divided by its spectral norm (Miyato et al. 2018; Zhang et al. 2019, section 3.1), or used as
// it is if the config says so. Parameters carry the names of torch.nn.utils.spectral_norm.
#pragma once

#include <cstdint>

#include "attend/nn/convolution.h"
#include "attend/nn/parameter.h"
#include "attend/ops/embedding.h"
#include "attend/ops/linear.h"
#include "attend/ops/spectral_norm.h"

namespace attend::nn {

struct SpectralConfig {
  bool bias = true;
  bool spectral = true;  // false uses the weight itself, under the name "weight"
};

// A weight W [out, ..] and the vectors u [out] and v [rest] of its power iteration.
class SpectralWeight {
 public:
  SpectralWeight(const Shape& shape, Role role, bool spectral)
      : weight_{shape, Init::xavier(shape.size() / shape[0], fan_out(shape)), role},
        u_{{shape[0]}, {Init::normal, 1}, Role::buffer},
        v_{{shape.size() / shape[0]}, {Init::normal, 1}, Role::buffer},
        spectral_(spectral) {}

  // The normalised weight, in x's pass.
  Tensor operator()(const Tensor& x) const {
    return spectral_ ? ops::spectral_norm(x, weight_, {u_, v_}) : weight_.value;
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    if (!spectral_) return static_cast<void>(v("weight", weight_));
    v("weight_orig", weight_), v("weight_u", u_), v("weight_v", v_);
  }

 private:
  static std::int64_t fan_out(const Shape& shape) { return shape.size() / shape[-1]; }
  Parameter weight_, u_, v_;
  bool spectral_;
};

// [.., in] -> [.., out]
class SpectralLinear {
 public:
  SpectralLinear(std::int64_t in, std::int64_t out, const SpectralConfig& config = {})
      : weight_({out, in}, Role::other, config.spectral), bias_{{out}, {}}, has_bias_(config.bias) {}
  Tensor operator()(const Tensor& x) const { return ops::linear(x, weight_(x), has_bias_ ? bias_ : Parameter{}); }
  template <class Visitor>
  void visit(Visitor&& v) {
    if (has_bias_) v("bias", bias_);
    v("", weight_);
  }

 private:
  SpectralWeight weight_;
  Parameter bias_;
  bool has_bias_;
};

// A convolution with an odd window, padded so that the size stays: [B, H, W, in] -> [B, H, W, out].
class SpectralConv2d {
 public:
  SpectralConv2d(std::int64_t in, std::int64_t out, std::int64_t kernel, const SpectralConfig& config = {})
      : weight_({out, kernel, kernel, in}, Role::plain_convolution, config.spectral),
        bias_{{out}, {}},
        padding_(kernel / 2),
        has_bias_(config.bias) {}
  Tensor operator()(const Tensor& x) const {
    return ops::conv2d(x, weight_(x), has_bias_ ? bias_ : Parameter{}, {.padding = {padding_, padding_}});
  }
  // The weight of a 1 x 1 convolution as a projection [out, in].
  Tensor projection(const Tensor& x) const {
    const Tensor weight = weight_(x);
    return weight.reshape({weight.dim(0), weight.dim(3)});
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    if (has_bias_) v("bias", bias_);
    v("", weight_);
  }

 private:
  SpectralWeight weight_;
  Parameter bias_;
  std::int64_t padding_;
  bool has_bias_;
};

// A table [count, width] with spectral norm.
class SpectralEmbedding {
 public:
  SpectralEmbedding(std::int64_t count, std::int64_t width) : weight_({count, width}, Role::other, true) {}
  // ids i32 [..] -> [.., width], in x's pass.
  Tensor operator()(const Tensor& x, const Tensor& ids) const { return ops::embedding(ids, weight_(x)); }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("", weight_);
  }

 private:
  SpectralWeight weight_;
};

}  // namespace attend::nn
