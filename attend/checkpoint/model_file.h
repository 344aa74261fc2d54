// The weights of a model as a safetensors file, by the names of its visit() list.
#pragma once

#include <map>
#include <string>

#include "attend/checkpoint/safetensors.h"
#include "attend/nn/parameters.h"

namespace attend {

// Fills every parameter. Throws Error when the file lacks one, has one of another shape, or holds a tensor that the
// model has no place for.
void load_weights(const Safetensors& file, nn::Parameters& parameters);

// Writes the f32 masters atomically. metadata goes into the header.
void save_weights(const std::string& path, const nn::Parameters& parameters,
                  const std::map<std::string, std::string>& metadata = {});

}  // namespace attend
