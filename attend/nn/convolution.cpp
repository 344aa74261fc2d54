// Folding a batch norm into the convolution before it.
#include "attend/nn/convolution.h"

#include <cmath>

#include "attend/base/error.h"

namespace attend::nn {

void Conv2d::scale_outputs(std::span<const float> factors) {
  std::vector<float> weight = download(weight_);
  check(!factors.empty() && weight.size() % factors.size() == 0 &&
            static_cast<std::int64_t>(factors.size()) == weight_.shape[0],
        "convolution: {} factors for a weight {}", factors.size(), weight_.shape);
  const std::size_t row = weight.size() / factors.size();
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] *= factors[i / row];
  upload(weight_, weight);
}

std::vector<float> BatchNorm::fold() {
  std::vector<float> factors = download(weight_), bias = download(bias_);
  std::vector<float> mean = download(mean_), variance = download(variance_);
  // norm(y) = y · w / sqrt(var + eps) + (b - mean · w / sqrt(var + eps))
  for (std::size_t i = 0; i < factors.size(); ++i) {
    factors[i] /= std::sqrt(variance[i] + options_.eps);
    bias[i] -= mean[i] * factors[i];
  }
  upload(bias_, bias);
  // The remaining statistics make the norm the identity plus its bias.
  upload(mean_, std::vector<float>(mean.size(), 0.0f));
  upload(variance_, std::vector<float>(mean.size(), 1.0f));
  upload(weight_, std::vector<float>(mean.size(), std::sqrt(1 + options_.eps)));
  return factors;
}

void ConvNorm::fold() {
  if (folded_) return;
  convolution_.scale_outputs(normalization_.fold());
  folded_ = true;
}

}  // namespace attend::nn
