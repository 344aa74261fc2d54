// Vector forms of the activation functions, for any width and any instruction set: GCC vectors, so the code is
// compiled for the target of the function it is inlined into. Absolute error about 2e-7 (of x, for the x * gate
// forms): below the rounding of the products they follow.
#pragma once

#include <cstdint>

#include "attend/tensor/activation.h"

// Vectors wider than the baseline target are only ever passed between inlined functions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace attend::cpu {

template <int Width>
struct Lanes {
  typedef float Float __attribute__((vector_size(Width * 4)));
  typedef std::int32_t Int __attribute__((vector_size(Width * 4)));
  typedef std::uint32_t Word __attribute__((vector_size(Width * 4)));
  typedef std::uint16_t Half __attribute__((vector_size(Width * 2)));
  typedef std::int8_t Bytes __attribute__((vector_size(Width)));
  // Without the alignment of the vector: for loads and stores anywhere.
  typedef float Loose __attribute__((vector_size(Width * 4), aligned(4), may_alias));
};

template <class V>
[[gnu::always_inline]] inline V broadcast(float x) {
  return V{} + x;
}

// e^x (range reduction by ln 2 in two parts, then a polynomial of degree 6), clamped to finite normal results.
template <int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float vector_exp(typename Lanes<Width>::Float x) {
  using F = typename Lanes<Width>::Float;
  using I = typename Lanes<Width>::Int;
  x = x > 88.0f ? broadcast<F>(88.0f) : x;
  x = x < -87.0f ? broadcast<F>(-87.0f) : x;
  const F shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the sum's low bits are round(x / ln 2)
  const F n = shifted - 12582912.0f;
  F r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  // Powers of r side by side: the processor waits for a chain of sums, not for their number.
  const F r2 = r * r, high = (4.1666668e-2f + r * 8.3333333e-3f) + r2 * 1.3888889e-3f;
  const F p = (1.0f + r) + r2 * ((0.5f + r * 1.6666667e-1f) + r2 * high);
  return p * (F)((((I)shifted - 0x4b400000) + 127) << 23);
}

template <int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float vector_sigmoid(typename Lanes<Width>::Float x) {
  return 1.0f / (1.0f + vector_exp<Width>(-x));
}

// Near 0 the odd series (relative accuracy where tanh(x) is about x), elsewhere 2 sigmoid(2x) - 1.
template <int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float vector_tanh(typename Lanes<Width>::Float x) {
  using F = typename Lanes<Width>::Float;
  const F s = x * x;
  const F near = x + x * s * (-0.33333333f + s * (0.13333333f + s * (-0.05396825f + s * 0.02186949f)));
  const F far = 2.0f * vector_sigmoid<Width>(2.0f * x) - 1.0f;
  return s < 0.04f ? near : far;
}

// x Phi(x). Phi(-|x|) as 2 to the power of a polynomial of degree 8, fitted to its logarithm up to |x| = 6, where x
// Phi(-x) ends (error 5e-8): no division, which a vector of 16 takes as long for as for all the rest.
template <int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float vector_gelu(typename Lanes<Width>::Float x) {
  using F = typename Lanes<Width>::Float;
  using I = typename Lanes<Width>::Int;
  const F length = x < 0.0f ? -x : x, size = length < 6.0f ? length : F{} + 6.0f;
  const F s2 = size * size, s4 = s2 * s2;
  const F low = (-1.0f - size * 1.151106954f) + s2 * (-0.4591890275f - size * 5.256234854e-2f);
  const F high = (7.167282049e-3f - size * 2.211755345e-4f) + s2 * (-1.497779740e-4f + size * 3.145806841e-5f);
  const F p = low + s4 * (high - s4 * 2.156020173e-6f);
  const F shifted = p + 12582912.0f;  // as in vector_exp
  const F r = p - (shifted - 12582912.0f);
  const F r2 = r * r, steep = (0.2402223796f + r * 5.550893024e-2f) + r2 * (9.671698324e-3f + r * 1.321867225e-3f);
  const F power = (1.0f + r * 0.6931468844f) + r2 * steep;
  const F below = power * (F)(((I)shifted << 23) + (127 << 23));
  const F tail = x * (length < 6.0f ? below : F{});
  return x < 0.0f ? tail : x - tail;
}

template <int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float vector_gelu_tanh(typename Lanes<Width>::Float x) {
  return x * vector_sigmoid<Width>(1.5957691216f * (x + 0.044715f * x * x * x));
}

template <Activation kActivation, int Width>
[[gnu::always_inline]] inline typename Lanes<Width>::Float activate(typename Lanes<Width>::Float x) {
  using F = typename Lanes<Width>::Float;
  if constexpr (kActivation == Activation::relu) return x > 0.0f ? x : F{};
  if constexpr (kActivation == Activation::gelu) return vector_gelu<Width>(x);
  if constexpr (kActivation == Activation::gelu_tanh) return vector_gelu_tanh<Width>(x);
  if constexpr (kActivation == Activation::silu) return x * vector_sigmoid<Width>(x);
  if constexpr (kActivation == Activation::tanh) return vector_tanh<Width>(x);
  if constexpr (kActivation == Activation::sigmoid) return vector_sigmoid<Width>(x);
  return x;
}

}  // namespace attend::cpu

#pragma GCC diagnostic pop
