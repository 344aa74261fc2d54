// Lower layers learn more slowly (Howard & Ruder 2018; Clark et al. 2020): the rate of a layer is that of the one above
// it times a number below 1. Layers are found by their names: in "encoder.layer.3.output.weight" the stack is
// "encoder.layer" and this is its fourth.
#pragma once

#include <vector>

#include "attend/nn/parameters.h"
#include "attend/train/loop/parameter_groups.h"

namespace attend::train {

// Groups that say the same of these parameters, and besides: rate · decay^(layers above). Embeddings lie below all
// layers; what has no number otherwise, a head or the last norm, above them. Throws Error when no name has a number.
std::vector<ParameterGroup> with_layer_decay(const std::vector<nn::Parameters::Entry>& entries,
                                             const std::vector<ParameterGroup>& groups, float decay);

}  // namespace attend::train
