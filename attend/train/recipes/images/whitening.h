// Filters that whiten patches of images (Jordan 2024, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU", section 3.2):
// their outputs are uncorrelated and have a variance of 1. They are the eigenvectors of the patches' second moments,
// each divided by the root of its eigenvalue and a floor, and their opposites, so that an activation keeps both signs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/data/images/image_batches.h"
#include "attend/nn/parameters.h"

namespace attend::train {

// As in the paper's program. Lossy images hardly vary in some directions; what little there is is noise of their files,
// and a higher floor amplifies it less.
inline constexpr double kWhiteningFloor = 5e-4;

// images [n, side, side, channels] -> filters [2 · k · k · channels, k, k, channels]
std::vector<float> whitening_filters(std::span<const float> images, std::int64_t side, std::int64_t channels,
                                     std::int64_t k, double floor = kWhiteningFloor);

// Sets the filters of a model that has such a first layer (ResNet9::kWhitening) from some of the images; other models
// stay as they are.
void whiten_patches(nn::Parameters& parameters, data::ValidationImages& images, double floor = kWhiteningFloor);

}  // namespace attend::train
