// Elementary functions on vectors. The polynomials are minimax fits (Remez) on the reduced range; the error against
// exact values is below 2e-7 relative unless a line says otherwise. NaN passes through, infinities give the limits.
#pragma once

#include "attend/cpu/lanes.h"
#include "attend/cpu/rows/vec.h"

namespace attend::cpu::ATTEND_ROWS {

constexpr float kInfinity = __builtin_inff();
constexpr float kNan = __builtin_nanf("");

// e^x = 2^n e^r with |r| <= ln 2 / 2. Infinity above 88.7; 0 below -86.6, where results come near the denormal numbers:
// making one costs over a hundred cycles, and the weights of a softmax are full of them.
template <int kCount>
ATTEND_INLINE Several<kLanes, kCount> exponential(const Several<kLanes, kCount>& x) {
  using S = Several<kLanes, kCount>;
  const S kept = at_least(at_most(x, 89.0f), -86.6f);
  const S shifted = kept * 1.44269504f + 12582912.0f;  // 1.5 · 2^23: the low bits of the sum are round(x / ln 2)
  const S n = shifted - 12582912.0f;
  const S r = kept - n * 0.693359375f + n * 2.12194440e-4f;
  S p = r * 0.001383674213f + 0.008374898344f;
  p = p * r + 0.0416682318f;
  p = p * r + 0.1666641919f;
  p = p * r + 0.4999999203f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const S scaled = S::each([&](int i) __attribute__((always_inline)) {
#if defined(__AVX512F__)
    return (Vec)_mm512_scalef_ps((__m512)p.of[i], (__m512)n.of[i]);
#else
    // 2p · 2^(n - 1), since n reaches 128.
    return (p.of[i] + p.of[i]) * (Vec)(((IntVec)shifted.of[i] - (0x4b400000 - 126)) << 23);
#endif
  });
  return where_less(x, -86.6f, 0.0f, scaled);
}
ATTEND_INLINE Vec exponential(Vec x) {
  return exponential(Several<kLanes, 1>::each([&](int) __attribute__((always_inline)) { return x; })).of[0];
}

// 1 / x for finite x of normal size. Dividing 16 numbers takes 16 cycles with AVX-512; an estimate of 14 bits and a
// Newton step take 4 and are right to 2 units in the last place.
ATTEND_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
  const Vec guess = (Vec)_mm512_rcp14_ps((__m512)x);
  return guess + guess * (1.0f - x * guess);
#else
  return 1.0f / x;
#endif
}

// The exponential is kept finite for the reciprocal; below -87 the result is 0.
ATTEND_INLINE Vec sigmoid(Vec x) {
  const IntVec vanishes = x < -87.0f;
  const Vec y = reciprocal(1.0f + exponential(vanishes ? splat(87.0f) : -x));
  return vanishes ? Vec{} : y;
}

// An odd polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel.
ATTEND_INLINE Vec hyperbolic_tangent(Vec x) {
  const Vec z = x * x;
  Vec p = z * -0.005648315786f + 0.02058982587f;
  p = p * z - 0.05372512644f;
  p = p * z + 0.1333127443f;
  p = p * z - 0.3333327606f;
  const Vec near = x + x * z * p;
  const Vec far = 1.0f - 2.0f * reciprocal(exponential(2.0f * (x > 20.0f ? splat(20.0f) : x)) + 1.0f);
  return z < 0.4f ? near : far;
}

// The normal distribution: Φ(x) and e^(-x²/2). Φ(-|x|) = e^(-x²/2) · P(1 / (1 + 0.3 |x|)), so the tail keeps its
// relative accuracy, which 1 + erf would lose.
struct Normal {
  Vec below;  // Φ(x)
  Vec bell;   // e^(-x²/2)
};
ATTEND_INLINE Normal normal_distribution(Vec x) {
  const Vec bell = exponential(x * x * -0.5f);
  const Vec size = absolute(x);
  const Vec t = reciprocal(1.0f + 0.3f * (size > 20.0f ? splat(20.0f) : size));
  Vec p = t * 0.03837825568f - 0.1691659603f;
  p = p * t + 0.2286597971f;
  p = p * t - 0.07650618608f;
  p = p * t + 0.1425353462f;
  p = p * t + 0.09468358921f;
  p = p * t + 0.1219203276f;
  p = p * t + 0.1194876907f;
  p = p * t + 7.168790548e-6f;
  const Vec tail = p * bell;
  return {x < 0.0f ? tail : 1.0f - tail, bell};
}

// ln x for normal positive x.
ATTEND_INLINE Vec logarithm(Vec x) {
  const IntVec bits = (IntVec)x;
  // The exponent that leaves a mantissa in [sqrt(1/2), sqrt(2)).
  const IntVec exponent = (bits - 0x3f3504f3) >> 23;
  const Vec m = (Vec)(bits - (exponent << 23)) - 1.0f;
  const Vec n = __builtin_convertvector(exponent, Vec);
  Vec p = m * -0.07634494258f + 0.1276157491f;
  p = p * m - 0.131601825f;
  p = p * m + 0.1420175848f;
  p = p * m - 0.1662335738f;
  p = p * m + 0.2000122684f;
  p = p * m - 0.2500082103f;
  p = p * m + 0.3333333171f;
  const Vec z = m * m;
  Vec y = m * z * p + n * -2.12194440e-4f;
  y = y - 0.5f * z;
  return (m + y) + n * 0.693359375f;
}

// Sine and cosine of 2π·turn for turn in [0, 1): a quarter turn at a time, |f| <= 1/2 quarters.
struct Circle {
  Vec sine, cosine;
};
ATTEND_INLINE Circle circle(Vec turn) {
  const Vec quarters = turn * 4.0f;
  const Vec shifted = quarters + 12582912.0f;
  const Vec f = quarters - (shifted - 12582912.0f);
  const IntVec k = (IntVec)shifted;
  const Vec z = f * f;
  Vec s = z * 0.0001582058558f - 0.004681266088f;
  s = s * z + 0.07969258271f;
  s = s * z - 0.6459640961f;
  s = s * z + 1.570796327f;
  s = s * f;
  Vec c = z * 0.0009036255008f - 0.02086006861f;
  c = c * z + 0.2536692036f;
  c = c * z - 1.233700541f;
  c = c * z + 1.0f;
  const IntVec odd = -(k & 1);
  const Vec sine = (Vec)(((IntVec)c & odd) | ((IntVec)s & ~odd));
  const Vec cosine = (Vec)(((IntVec)s & odd) | ((IntVec)c & ~odd));
  return {(Vec)((IntVec)sine ^ ((k & 2) << 30)), (Vec)((IntVec)cosine ^ (((k + 1) & 2) << 30))};
}

// One number through a vector function, for what happens once per row.
ATTEND_INLINE float exponential(float x) { return exponential(splat(x))[0]; }
ATTEND_INLINE float logarithm(float x) { return x - x == 0 ? logarithm(splat(x))[0] : x; }  // infinity, NaN stay

}  // namespace attend::cpu::ATTEND_ROWS
