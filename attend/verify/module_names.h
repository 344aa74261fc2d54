// transformers 5 keeps files as they were and gives modules new names in memory, by which it tells gradients.
#pragma once

#include <string>

namespace attend::verify {

// "vit.encoder.layer.0.intermediate.dense.bias" -> "vit.layers.0.mlp.fc1.bias"
std::string module_name(std::string file_name);

}  // namespace attend::verify
