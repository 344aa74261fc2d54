// Folding a batch norm into the convolution before it.
#include "attend/nn/convolution.h"

#include <cmath>
#include <memory>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

void Conv2d::scale_outputs(std::span<const float> factors) {
  const std::shared_ptr<const PackedWeight>& packed = weight_.value.storage()->packed;
  std::vector<float> weight(static_cast<std::size_t>(weight_.shape.size()));
  if (packed)
    packed->read(weight);
  else
    weight = download(weight_);
  check(!factors.empty() && weight.size() % factors.size() == 0 &&
            static_cast<std::int64_t>(factors.size()) == weight_.shape[0],
        "convolution: {} factors for a weight {}", factors.size(), weight_.shape);
  const std::size_t row = weight.size() / factors.size();
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] *= factors[i / row];
  if (!packed) return upload(weight_, weight);
  weight_.value.storage()->packed = weight_.value.backend().pack(
      {.values = weight.data(), .out = weight_.shape[0], .in = static_cast<std::int64_t>(row), .as = packed->form()});
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
