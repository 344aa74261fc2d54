// Self-attention over the places of an image, for any convolutional network (Zhang et al. 2019, section 3):
//   y = x + gamma · o(softmax(f(x) g(x)ᵀ) h(x)), where f, g, h and o are 1 x 1 convolutions. gamma is learned from 0
// on, so that a network first learns what is near, as without it.
#pragma once

#include <cstdint>
#include <string>

#include "attend/nn/spectral_norm.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

struct SelfAttention2dConfig {
  bool pooled = true;  // keys and values are the largest of 2 x 2 places each: a quarter of the work
  bool spectral = true;
  std::string label = "self attention";  // what a probe is told
};

class SelfAttention2d {
 public:
  SelfAttention2d(std::int64_t width, const SelfAttention2dConfig& config = {});

  // x [B, H, W, C] -> the same
  Tensor operator()(const Tensor& x) const;
  const std::string& label() const { return config_.label; }
  bool pooled() const { return config_.pooled; }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("gamma", gamma_), v("f", query_), v("g", key_), v("h", value_), v("o", output_);
  }

 private:
  Parameter gamma_;
  SpectralConv2d query_, key_, value_, output_;
  SelfAttention2dConfig config_;
};

}  // namespace attend::nn
