// Vector forms of the activation functions, of Several vectors. Absolute error about 2e-7 (of x, for the x * gate
// forms): below the rounding of the products they follow.
#pragma once

#include "attend/cpu/lanes.h"
#include "attend/tensor/activation.h"

namespace attend::cpu {

constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: the low bits of x + kShift are round(x)

// e^x (range reduction by ln 2 in two parts, then a polynomial of degree 6), clamped to finite normal results.
template <class T>
[[gnu::always_inline]] inline T vector_exp(T x) {
  x = at_least(at_most(x, 88.0f), -87.0f);
  const T shifted = x * 1.44269504f + kShift;
  const T n = shifted - kShift;
  const T r = x - n * 0.693359375f + n * 2.12194440e-4f;
  // Powers of r side by side: the processor waits for a chain of sums, not for their number.
  const T r2 = r * r, high = (4.1666668e-2f + r * 8.3333333e-3f) + r2 * 1.3888889e-3f;
  return times_power((1.0f + r) + r2 * ((0.5f + r * 1.6666667e-1f) + r2 * high), shifted);
}

template <class T>
[[gnu::always_inline]] inline T vector_sigmoid(const T& x) {
  return 1.0f / (1.0f + vector_exp(-x));
}

// Near 0 the odd series (relative accuracy where tanh(x) is about x), elsewhere 2 sigmoid(2x) - 1.
template <class T>
[[gnu::always_inline]] inline T vector_tanh(const T& x) {
  const T s = x * x;
  const T near = x + x * s * (-0.33333333f + s * (0.13333333f + s * (-0.05396825f + s * 0.02186949f)));
  return where_less(s, 0.04f, near, 2.0f * vector_sigmoid(2.0f * x) - 1.0f);
}

// x Phi(x). Phi(-|x|) as 2 to the power of a polynomial of degree 8, fitted to its logarithm up to |x| = 6, where x
// Phi(-x) ends (error 5e-8): no division, which a vector of 16 takes as long for as for all the rest.
template <class T>
[[gnu::always_inline]] inline T vector_gelu(const T& x) {
  const T length = where_less(x, 0.0f, -x, x), size = where_less(length, 6.0f, length, 6.0f);
  const T s2 = size * size, s4 = s2 * s2;
  const T low = (-1.0f - size * 1.151106954f) + s2 * (-0.4591890275f - size * 5.256234854e-2f);
  const T high = (7.167282049e-3f - size * 2.211755345e-4f) + s2 * (-1.497779740e-4f + size * 3.145806841e-5f);
  const T p = low + s4 * (high - s4 * 2.156020173e-6f);
  const T shifted = p + kShift;
  const T r = p - (shifted - kShift);
  const T r2 = r * r, steep = (0.2402223796f + r * 5.550893024e-2f) + r2 * (9.671698324e-3f + r * 1.321867225e-3f);
  const T below = times_power((1.0f + r * 0.6931468844f) + r2 * steep, shifted);
  const T tail = x * where_less(length, 6.0f, below, 0.0f);
  return where_less(x, 0.0f, tail, x - tail);
}

template <class T>
[[gnu::always_inline]] inline T vector_gelu_tanh(const T& x) {
  return x * vector_sigmoid(1.5957691216f * (x + 0.044715f * x * x * x));
}

template <Activation kActivation, class T>
[[gnu::always_inline]] inline T activate(const T& x) {
  if constexpr (kActivation == Activation::relu) return at_least(x, 0.0f);
  if constexpr (kActivation == Activation::gelu) return vector_gelu(x);
  if constexpr (kActivation == Activation::gelu_tanh) return vector_gelu_tanh(x);
  if constexpr (kActivation == Activation::silu) return x * vector_sigmoid(x);
  if constexpr (kActivation == Activation::tanh) return vector_tanh(x);
  if constexpr (kActivation == Activation::sigmoid) return vector_sigmoid(x);
  // Not by where_less: g++ 13 has an internal error there for AVX-512.
  if constexpr (kActivation == Activation::leaky_relu) return at_least(x, 0.0f) + kLeakySlope * at_most(x, 0.0f);
  return x;
}

}  // namespace attend::cpu
