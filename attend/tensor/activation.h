// The element-wise functions a matrix product can end with, and that ops::activation applies on its own.
#pragma once

#include <cstdint>

namespace attend {

// gelu is the exact erf form (BERT, ViT); gelu_tanh is the approximation GPT-2 uses.
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu, tanh, sigmoid };

constexpr const char* name_of(Activation activation) {
  constexpr const char* kNames[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"};
  return kNames[static_cast<int>(activation)];
}

}  // namespace attend
