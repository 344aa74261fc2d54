#include "attend/train/recipes/images/dirac.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "attend/models/resnet9.h"

namespace attend::train {

void copy_channels(nn::Parameters& parameters) {
  const std::string stages = std::string(models::ResNet9::kPrefix) + ".stages.";
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    if (!entry.name.starts_with(stages) || !nn::is_convolution(entry.parameter->role)) continue;
    const Shape& shape = entry.parameter->shape;  // [out, k, k, in]
    const std::int64_t filter = shape[1] * shape[2] * shape[3];
    const std::int64_t middle = (shape[1] / 2 * shape[2] + shape[2] / 2) * shape[3];
    std::vector<float> values = parameters.read(entry);
    for (std::int64_t channel = 0; channel < std::min(shape[0], shape[3]); ++channel) {
      std::fill_n(values.begin() + channel * filter, filter, 0.0f);
      values[static_cast<std::size_t>(channel * filter + middle + channel)] = 1;
    }
    parameters.write(entry, values);
  }
}

}  // namespace attend::train
