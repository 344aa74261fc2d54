// Vectors for the row loops: one source, compiled once for each instruction set into its own namespace (ATTEND_ROWS,
// set by the build), so that nothing compiled for AVX-512 can be linked into code that runs elsewhere. For the same
// reason this and everything it includes is static and uses no templates of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#ifndef ATTEND_ROWS
#define ATTEND_ROWS rows_generic
#endif
#define ATTEND_INLINE static inline __attribute__((always_inline))

namespace attend::cpu::ATTEND_ROWS {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t IntVec __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t WordVec __attribute__((vector_size(kLanes * 4)));
typedef std::uint16_t HalfVec __attribute__((vector_size(kLanes * 2)));
using Bf16Bits = std::uint16_t;

// How much of a vector a step of each() covers.
struct Whole {};
struct Part {
  int count;
};

// x - 0 and not 0 + x, which is not x for x = -0 and so would cost an addition.
ATTEND_INLINE Vec splat(float x) { return x - Vec{}; }
ATTEND_INLINE IntVec iota() {
  IntVec v = {};
  for (int i = 0; i < kLanes; ++i) v[i] = i;
  return v;
}

// 16 bits to 32, zeros above.
ATTEND_INLINE WordVec spread(HalfVec bits) {
#if defined(__AVX512F__)
  return (WordVec)_mm512_cvtepu16_epi32((__m256i)bits);  // GCC 12 takes two halves for the convertvector
#else
  return __builtin_convertvector(bits, WordVec);
#endif
}
ATTEND_INLINE Vec widen(HalfVec bits) { return (Vec)(spread(bits) << 16); }
// Rounds to nearest even; NaN stays NaN.
ATTEND_INLINE HalfVec narrow(Vec x) {
  const WordVec word = (WordVec)x;
  const WordVec rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const WordVec nan = (word >> 16) | 0x40u;
  const WordVec bits = (x != x) ? nan : rounded;  // NOLINT(misc-redundant-expression): a NaN
#if defined(__AVX512F__)
  return (HalfVec)_mm512_cvtepi32_epi16((__m512i)bits);
#else
  return __builtin_convertvector(bits, HalfVec);
#endif
}

ATTEND_INLINE Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
ATTEND_INLINE Vec load(const Bf16Bits* p) {
  HalfVec v;
  __builtin_memcpy(&v, p, sizeof v);
  return widen(v);
}
ATTEND_INLINE void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
ATTEND_INLINE void store(Bf16Bits* p, Vec v) {
  const HalfVec half = narrow(v);
  __builtin_memcpy(p, &half, sizeof half);
}
ATTEND_INLINE WordVec load_words(const std::uint32_t* p) {
  WordVec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class E>
ATTEND_INLINE Vec load(const E* p, Whole) {
  return load(p);
}
template <class E>
ATTEND_INLINE void store(E* p, Vec v, Whole) {
  store(p, v);
}

// Tails: lanes beyond the count read as 0 and are not written.
#if defined(__AVX512F__)
ATTEND_INLINE __mmask16 mask_of(Part part) { return static_cast<__mmask16>((1u << part.count) - 1u); }
ATTEND_INLINE Vec load(const float* p, Part part) { return (Vec)_mm512_maskz_loadu_ps(mask_of(part), p); }
ATTEND_INLINE void store(float* p, Vec v, Part part) { _mm512_mask_storeu_ps(p, mask_of(part), (__m512)v); }
ATTEND_INLINE Vec load(const Bf16Bits* p, Part part) {
  return widen((HalfVec)_mm256_maskz_loadu_epi16(mask_of(part), p));
}
ATTEND_INLINE void store(Bf16Bits* p, Vec v, Part part) {
  _mm256_mask_storeu_epi16(p, mask_of(part), (__m256i)narrow(v));
}
#else
template <class E>
ATTEND_INLINE Vec load(const E* p, Part part) {
  E copy[kLanes] = {};
  for (int i = 0; i < part.count; ++i) copy[i] = p[i];
  return load(copy);
}
template <class E>
ATTEND_INLINE void store(E* p, Vec v, Part part) {
  E copy[kLanes];
  store(copy, v);
  for (int i = 0; i < part.count; ++i) p[i] = copy[i];
}
#endif

// The lanes of v that a step covers, `other` elsewhere.
ATTEND_INLINE Vec keep(Vec v, float, Whole) { return v; }
ATTEND_INLINE Vec keep(Vec v, float other, Part part) { return iota() < (IntVec{} + part.count) ? v : splat(other); }

// f(i, Whole) for whole vectors of [0, n), then f(i, Part) for what is left.
template <class F>
ATTEND_INLINE void each(std::int64_t n, F&& f) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i, Whole{});
  if (i < n) f(i, Part{static_cast<int>(n - i)});
}

// x as it is, rounded: keeps a product from being fused with what is done to it next.
ATTEND_INLINE Vec rounded(Vec x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__x86_64__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}

ATTEND_INLINE Vec larger(Vec a, Vec b) { return a > b ? a : b; }
ATTEND_INLINE Vec absolute(Vec x) { return (Vec)((IntVec)x & 0x7fffffff); }
ATTEND_INLINE Vec square_root(Vec x) {
#if defined(__AVX512F__)
  return (Vec)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (Vec)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
  return (Vec)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
  return (Vec)vsqrtq_f32((float32x4_t)x);
#elif defined(__wasm_simd128__)
  return (Vec)wasm_f32x4_sqrt((v128_t)x);
#else
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

// Sums and maxima over the lanes, by halves: the same tree on every call.
ATTEND_INLINE float sum_of(Vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#elif defined(__AVX2__)
  const __m256 whole = (__m256)v;
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(whole), _mm256_extractf128_ps(whole, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
#else
  return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}
ATTEND_INLINE float larger(float a, float b) { return a > b ? a : b; }
ATTEND_INLINE float max_of(Vec v) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)v);
#else
  float m = v[0];
  for (int i = 1; i < kLanes; ++i) m = larger(m, v[i]);
  return m;
#endif
}

// a0 b0 a1 b1 ..: the first halves of a and b interleaved, and the second halves.
ATTEND_INLINE Vec zip_low(Vec a, Vec b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}
ATTEND_INLINE Vec zip_high(Vec a, Vec b) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif defined(__AVX2__)
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

// Rows become columns: log2(kLanes) perfect shuffles of all the vectors.
ATTEND_INLINE void transpose(Vec (&rows)[kLanes]) {
  for (int step = 1; step < kLanes; step *= 2) {
    Vec next[kLanes];
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = zip_low(rows[i], rows[i + kLanes / 2]);
      next[2 * i + 1] = zip_high(rows[i], rows[i + kLanes / 2]);
    }
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

// Lane i of the result is the sum over the lanes of rows[i]: the same shuffles, added up on the way.
ATTEND_INLINE Vec sums_of(Vec (&rows)[kLanes]) {
  for (int count = kLanes / 2; count >= 1; count /= 2)
    for (int i = 0; i < count; ++i) rows[i] = zip_low(rows[i], rows[i + count]) + zip_high(rows[i], rows[i + count]);
  return rows[0];
}

}  // namespace attend::cpu::ATTEND_ROWS
