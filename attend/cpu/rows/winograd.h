// Winograd's transforms along one axis, for vectors. Polynomials of degree n + 1 are known by their values at n + 1
// points and infinity. Two results take the points 0, 1, -1. Four take 0, ±5/8, ±3/2: exact in f32, and with a third of
// the error of the usual 0, ±1, ±2 (docs/lab/convolution.md).
#pragma once

#include "attend/cpu/rows/vec.h"

namespace attend::cpu::ATTEND_ROWS {

// Steps are in vectors: from one number of the axis to the next.
struct TwoResults {
  static constexpr int kResults = 2, kPlaces = 4;

  ATTEND_INLINE void input(const Vec* d, int step, Vec* to, int to_step) {
    const Vec d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
    to[0] = d0 - d2;
    to[to_step] = d1 + d2;
    to[2 * to_step] = d2 - d1;
    to[3 * to_step] = d3 - d1;
  }
  ATTEND_INLINE void output(const Vec* m, int step, Vec* to, int to_step) {
    const Vec m0 = m[0], m1 = m[step], m2 = m[2 * step], m3 = m[3 * step];
    to[0] = m0 + m1 + m2;
    to[to_step] = m1 - m2 + m3;
  }
};

struct FourResults {
  static constexpr int kResults = 4, kPlaces = 6;
  static constexpr float kA = 5.0f / 8, kA2 = kA * kA, kA3 = kA2 * kA;
  static constexpr float kB = 3.0f / 2, kB2 = kB * kB, kB3 = kB2 * kB;

  ATTEND_INLINE void input(const Vec* d, int step, Vec* to, int to_step) {
    const Vec d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
    to[0] = d4 + (d0 * (kA2 * kB2) - d2 * (kA2 + kB2));
    const Vec even_a = d4 - d2 * kB2, odd_a = d3 - d1 * kB2;
    to[to_step] = even_a + odd_a * kA;
    to[2 * to_step] = even_a - odd_a * kA;
    const Vec even_b = d4 - d2 * kA2, odd_b = d3 - d1 * kA2;
    to[3 * to_step] = even_b + odd_b * kB;
    to[4 * to_step] = even_b - odd_b * kB;
    to[5 * to_step] = d5 + (d1 * (kA2 * kB2) - d3 * (kA2 + kB2));
  }
  ATTEND_INLINE void output(const Vec* m, int step, Vec* to, int to_step) {
    const Vec m0 = m[0], m1 = m[step], m2 = m[2 * step], m3 = m[3 * step], m4 = m[4 * step], m5 = m[5 * step];
    const Vec even_a = m1 + m2, odd_a = m1 - m2, even_b = m3 + m4, odd_b = m3 - m4;
    to[0] = m0 + even_a + even_b;
    to[to_step] = odd_a * kA + odd_b * kB;
    to[2 * to_step] = even_a * kA2 + even_b * kB2;
    to[3 * to_step] = m5 + (odd_a * kA3 + odd_b * kB3);
  }
};

}  // namespace attend::cpu::ATTEND_ROWS
