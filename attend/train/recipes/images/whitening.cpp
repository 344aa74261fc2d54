#include "attend/train/recipes/images/whitening.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/metrics/frechet.h"
#include "attend/models/resnet9.h"

namespace attend::train {

namespace {

constexpr std::size_t kImages = 2000;

// The mean over all patches of x xᵀ, where x are the k · k · channels values of a patch.
std::vector<double> second_moments(std::span<const float> images, std::int64_t side, std::int64_t channels,
                                   std::int64_t k) {
  const auto row = static_cast<std::size_t>(side * channels), wide = static_cast<std::size_t>(k * channels);
  const std::size_t image = row * static_cast<std::size_t>(side), n = wide * static_cast<std::size_t>(k);
  std::vector<double> sums(n * n), patch(n);
  double count = 0;
  for (std::size_t at = 0; at < images.size(); at += image)
    for (std::int64_t y = 0; y + k <= side; ++y)
      for (std::int64_t x = 0; x + k <= side; ++x, ++count) {
        const std::size_t corner = at + static_cast<std::size_t>(y) * row + static_cast<std::size_t>(x * channels);
        for (std::size_t i = 0; i < n; ++i) patch[i] = static_cast<double>(images[corner + i / wide * row + i % wide]);
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j) sums[i * n + j] += patch[i] * patch[j];
      }
  for (double& sum : sums) sum /= count;
  return sums;
}

}  // namespace

std::vector<float> whitening_filters(std::span<const float> images, std::int64_t side, std::int64_t channels,
                                     std::int64_t k, double floor) {
  check(k >= 1 && side >= k && channels >= 1 && !images.empty() &&
            images.size() % static_cast<std::size_t>(side * side * channels) == 0,
        "whitening: {} values are no images of {} x {} x {} with patches of {} x {}", images.size(), side, side,
        channels, k, k);
  const auto n = static_cast<std::size_t>(k * k * channels);
  const metrics::Eigen eigen =
      metrics::symmetric_eigen(second_moments(images, side, channels, k), static_cast<std::int64_t>(n));
  std::vector<float> filters(2 * n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double value = eigen.vectors[j * n + i] / std::sqrt(std::max(eigen.values[i], 0.0) + floor);
      filters[i * n + j] = static_cast<float>(value);
      filters[(n + i) * n + j] = static_cast<float>(-value);
    }
  return filters;
}

void whiten_patches(nn::Parameters& parameters, data::ValidationImages& images, double floor) {
  const auto entry =
      std::ranges::find(parameters.entries(), std::string(models::ResNet9::kWhitening), &nn::Parameters::Entry::name);
  if (entry == parameters.entries().end()) return;
  std::vector<float> values;
  std::int64_t side = 0;
  for (const data::ValidationImages::Shown& shown : images.some(kImages)) {
    side = shown.prepared.width;
    const std::size_t begin = values.size();
    values.resize(begin + shown.prepared.pixels.size());
    image::to_floats(shown.prepared, images.normalization(), values.data() + begin);
  }
  const Shape& shape = entry->parameter->shape;  // [2 · k · k · channels, k, k, channels]
  parameters.write(*entry, whitening_filters(values, side, shape[3], shape[1], floor));
}

}  // namespace attend::train
