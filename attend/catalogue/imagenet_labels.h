// The names of ImageNet-1k's labels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attend::catalogue {

inline constexpr std::size_t kImageNetLabels = 1000;

// "tench, Tinca tinca", "goldfish, Carassius auratus", ..: by the number of the class.
const std::vector<std::string>& imagenet_labels();

}  // namespace attend::catalogue
