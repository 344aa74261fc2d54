// Self-attention over the places of an image, for any convolutional network (Zhang et al. 2019, section 3):
//   y = x + gamma · o(softmax(f(x) g(x)ᵀ) h(x)),   x, y [B, H, W, C]
// f, g, h and o are 1 x 1 convolutions. gamma starts at 0, so that a network first learns local structure, as it would
// without attention.
#pragma once

#include <cstdint>
#include <string>

#include "attend/nn/spectral_norm.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

struct SelfAttention2dConfig {
  bool pooled = true;  // max-pools keys and values over 2 x 2 places: a quarter of the work
  bool spectral = true;
  std::string label = "self attention";  // the label under which a probe sees the weights
};

class SelfAttention2d {
 public:
  SelfAttention2d(std::int64_t width, const SelfAttention2dConfig& config = {});

  // x [B, H, W, C] -> [B, H, W, C]
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
