// The element-wise functions a matrix product can end with, and that ops::activation applies on its own.
#pragma once

#include <cstdint>

namespace attend {

// gelu is the exact erf form (BERT, ViT); gelu_tanh is the approximation GPT-2 uses; leaky_relu is kLeakySlope · x
// below 0.
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu, tanh, sigmoid, leaky_relu };
inline constexpr float kLeakySlope = 0.2f;  // of discriminators since Radford et al. 2016

constexpr const char* name_of(Activation activation) {
  constexpr const char* kNames[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "leaky_relu"};
  return kNames[static_cast<int>(activation)];
}

}  // namespace attend
