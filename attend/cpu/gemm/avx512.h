// Shared by the AVX-512 and AMX files: the target attribute (functions carry it instead of whole files, so that no
// inline function of the standard library is ever compiled for a machine that may not have it) and transposition.
#pragma once

#if defined(__x86_64__)

// g++ 12 takes the deliberately undefined operands inside these intrinsics for mistakes, and warns of wide vectors
// passed between functions that are all inlined.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wpsabi"
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "attend/cpu/gemm/kernel.h"

#define ATTEND_AVX512 \
  __attribute__((target("avx2,fma,prfchw,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx512vnni")))
#define ATTEND_AVX512_INLINE ATTEND_AVX512 __attribute__((always_inline)) inline

namespace attend::cpu::detail {

ATTEND_AVX512_INLINE __mmask16 lanes(int count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << (count < 0 ? 0 : count)) - 1u);
}

// Where 16 rows start, in bytes from the first; rows from `count` on repeat the last, so that a block at the edge is
// read like any other (what they give is never used).
struct RowOffsets {
  std::int64_t of[16];
};

inline RowOffsets row_offsets(const Operand& from, int first, int count) {
  RowOffsets rows;
  for (int i = 0; i < 16; ++i) rows.of[i] = from.bytes_to(first + (i < count ? i : count - 1));
  return rows;
}

inline RowOffsets row_offsets(std::int64_t pitch, int count) {
  RowOffsets rows;
  for (int i = 0; i < 16; ++i) rows.of[i] = (i < count ? i : count - 1) * pitch;
  return rows;
}

// 16 x 16 words: to[k][row] = from[row][k], only the lanes of `write` written, only the first `count` k. The first of
// the usual four shuffle stages is done by the loads (an insert from memory takes no shuffle port): 32 shuffles
// instead of 64.
ATTEND_AVX512_INLINE void transpose_words(const std::byte* from, const RowOffsets& rows, std::byte* to,
                                          std::int64_t to_pitch, __mmask16 write, int count) {
  for (int j = 0; j < 4; ++j) {
    if (4 * j >= count) break;
    __m512i v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const std::byte* p = from + j * 16;
      __m512i x = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + rows.of[i])));
      x = _mm512_inserti32x4(x, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + rows.of[i + 4])), 1);
      x = _mm512_inserti32x4(x, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + rows.of[i + 8])), 2);
      v[i] = _mm512_inserti32x4(x, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + rows.of[i + 12])), 3);
    }
    const __m512i t0 = _mm512_unpacklo_epi32(v[0], v[1]), t1 = _mm512_unpackhi_epi32(v[0], v[1]);
    const __m512i t2 = _mm512_unpacklo_epi32(v[2], v[3]), t3 = _mm512_unpackhi_epi32(v[2], v[3]);
    const __m512i out[4] = {_mm512_unpacklo_epi64(t0, t2), _mm512_unpackhi_epi64(t0, t2), _mm512_unpacklo_epi64(t1, t3),
                            _mm512_unpackhi_epi64(t1, t3)};
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q)
      if (4 * j + q < count) _mm512_mask_storeu_epi32(to + (4 * j + q) * to_pitch, write, out[q]);
  }
}

// [k][width] of 32-bit words (f32, or four int8 of k) from a matrix of words.
void pack_words_avx512(const Operand& from, int rows, int width, std::int64_t k, std::byte* to);

// The same for int8 operands with k contiguous and padded to words.
void pack_int8_avx512(const Operand& from, int rows, int width, std::int64_t k, std::byte* to);

float largest_avx512(const FloatRow& from, std::int64_t k);
void round_avx512(const FloatRow& from, std::int64_t k, float inverse, int offset, std::byte* to);

void dot_bf16_avx512(const DotProduct& product);

void write_avx512(const TileOutput& out);

// int8 without VNNI.
const Kernel& int8_kernel_avx512();

}  // namespace attend::cpu::detail

#endif
