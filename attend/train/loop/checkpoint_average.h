// The average of checkpoints (Vaswani et al. 2017, section 6.1).
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "attend/nn/parameters.h"

namespace attend::train {

// Parameters get the means of what they are in these files.
void load_average(std::span<const std::filesystem::path> files, const std::vector<nn::Parameters*>& parameters);

}  // namespace attend::train
