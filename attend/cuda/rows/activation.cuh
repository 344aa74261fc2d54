// The activation functions and their derivatives, in f32.
#pragma once

#include "attend/cuda/fast_math.cuh"
#include "attend/tensor/activation.h"

namespace attend::cuda {

inline constexpr float kLog2OfE = 1.4426950408889634f;

// 1 / (1 + e^-x), right to about 2e-7.
__device__ __forceinline__ float sigmoid(float x) { return reciprocal_fast(1.0f + exp2_fast(-kLog2OfE * x)); }

// Φ(x), the normal distribution. The sigmoid's inverse of it is odd and nearly straight: x times a polynomial in x²
// (minimax, ours) leaves 7e-8 of x · Φ(x). The fewest instructions of those tried: with erff() the exact GELU ran at
// 70 % of copy speed, with Abramowitz & Stegun 7.1.26 at 79 %.
__device__ __forceinline__ float normal_below(float x) {
  const float square = x * x;
  float exponent = -5.210337496e-09f;
  exponent = exponent * square + 3.850623628e-07f;
  exponent = exponent * square - 1.145268545e-05f;
  exponent = exponent * square + 1.593911200e-04f;
  exponent = exponent * square + 9.558764046e-05f;
  exponent = exponent * square - 1.048385744e-01f;
  exponent = exponent * square - 2.302207206e+00f;
  return reciprocal_fast(1.0f + exp2_fast(x * exponent));
}

// Φ(x) and its density from one exponential and one reciprocal (Abramowitz & Stegun 7.1.26, right to 1e-7).
struct Normal {
  float below, density;
};

__device__ __forceinline__ Normal normal(float x) {
  const float exponential = exp2_fast(-0.5f * kLog2OfE * x * x), size = fabsf(x) * 0.70710678118654752f;
  const float t = reciprocal_fast(1.0f + 0.3275911f * size);
  float tail = 1.061405429f;
  tail = tail * t - 1.453152027f;
  tail = tail * t + 1.421413741f;
  tail = tail * t - 0.284496736f;
  tail = tail * t + 0.254829592f;
  tail *= 0.5f * t * exponential;
  return {x < 0.0f ? tail : 1.0f - tail, 0.3989422804014327f * exponential};
}

inline constexpr float kGeluSlope = 1.5957691216057308f;  // 2 √(2/π)
inline constexpr float kGeluCubic = 0.044715f;

template <Activation Kind>
__device__ __forceinline__ float activate(float x) {
  if constexpr (Kind == Activation::relu) return fmaxf(x, 0.0f);
  if constexpr (Kind == Activation::gelu) return x * normal_below(x);
  // ½ (1 + tanh u) is sigmoid(2u).
  if constexpr (Kind == Activation::gelu_tanh) return x * sigmoid(kGeluSlope * (x + kGeluCubic * x * x * x));
  if constexpr (Kind == Activation::silu) return x * sigmoid(x);
  if constexpr (Kind == Activation::tanh) return tanhf(x);
  if constexpr (Kind == Activation::sigmoid) return sigmoid(x);
  if constexpr (Kind == Activation::leaky_relu) return x < 0.0f ? kLeakySlope * x : x;
  return x;
}

template <Activation Kind>
__device__ __forceinline__ float derivative(float x) {
  if constexpr (Kind == Activation::relu) return x > 0.0f ? 1.0f : 0.0f;
  if constexpr (Kind == Activation::gelu) {
    const Normal at = normal(x);
    return at.below + x * at.density;
  }
  if constexpr (Kind == Activation::gelu_tanh) {
    const float s = sigmoid(kGeluSlope * (x + kGeluCubic * x * x * x));
    return s + x * s * (1.0f - s) * kGeluSlope * (1.0f + 3.0f * kGeluCubic * x * x);
  }
  if constexpr (Kind == Activation::silu) {
    const float s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
  }
  if constexpr (Kind == Activation::tanh) {
    const float t = tanhf(x);
    return 1.0f - t * t;
  }
  if constexpr (Kind == Activation::sigmoid) {
    const float s = sigmoid(x);
    return s * (1.0f - s);
  }
  if constexpr (Kind == Activation::leaky_relu) return x > 0.0f ? 1.0f : kLeakySlope;
  return 1.0f;
}

// Calls body with the kind as a constant. The branch is the same for all threads; the loop over a pack goes inside it.
template <class Body>
__device__ __forceinline__ void with_activation(Activation kind, Body&& body) {
  switch (kind) {
    case Activation::relu:
      return body.template operator()<Activation::relu>();
    case Activation::gelu:
      return body.template operator()<Activation::gelu>();
    case Activation::gelu_tanh:
      return body.template operator()<Activation::gelu_tanh>();
    case Activation::silu:
      return body.template operator()<Activation::silu>();
    case Activation::tanh:
      return body.template operator()<Activation::tanh>();
    case Activation::sigmoid:
      return body.template operator()<Activation::sigmoid>();
    case Activation::leaky_relu:
      return body.template operator()<Activation::leaky_relu>();
    case Activation::none:
      return;
  }
}

// x = f(x)
template <int N>
__device__ __forceinline__ void activate(Activation kind, float (&x)[N]) {
  with_activation(kind, [&]<Activation Kind>() {
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] = activate<Kind>(x[j]);
  });
}

// dy = dy · f'(x)
template <int N>
__device__ __forceinline__ void differentiate(Activation kind, const float (&x)[N], float (&dy)[N]) {
  with_activation(kind, [&]<Activation Kind>() {
#pragma unroll
    for (int j = 0; j < N; ++j) dy[j] *= derivative<Kind>(x[j]);
  });
}

}  // namespace attend::cuda
