// Element-wise functions, [..] -> [..]: relu, gelu (Hendrycks & Gimpel 2016), its tanh approximation, silu, tanh,
// sigmoid, leaky relu; and dropout (Srivastava et al. 2014).
#pragma once

#include "attend/tensor/activation.h"
#include "attend/tensor/tensor.h"

namespace attend::ops {

Tensor activation(const Tensor& x, Activation kind);

inline Tensor relu(const Tensor& x) { return activation(x, Activation::relu); }
inline Tensor gelu(const Tensor& x) { return activation(x, Activation::gelu); }
inline Tensor gelu_tanh(const Tensor& x) { return activation(x, Activation::gelu_tanh); }
inline Tensor silu(const Tensor& x) { return activation(x, Activation::silu); }
inline Tensor tanh(const Tensor& x) { return activation(x, Activation::tanh); }
inline Tensor sigmoid(const Tensor& x) { return activation(x, Activation::sigmoid); }
inline Tensor leaky_relu(const Tensor& x) { return activation(x, Activation::leaky_relu); }

// Zeroes elements with this probability and scales the rest by 1 / (1 - rate). Returns x itself if the pass does not
// record.
Tensor dropout(const Tensor& x, float rate);

}  // namespace attend::ops
