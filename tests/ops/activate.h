// The activations in double precision, as the papers have them: the truth of the op cases and of the matrix product's.
#pragma once

#include <cmath>

#include "attend/base/error.h"
#include "attend/tensor/activation.h"

namespace attend::test {

inline double activate(double x, Activation kind) {
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
  }
  fail("activate: an unknown activation");
}

}  // namespace attend::test
