// Packing into bf16 with AVX-512: f32 or bf16 in; one plane (rounded) or two (hi = rounded, lo = rounded rest) out.
// Work goes in blocks of 16 rows x 32 k. A block is either by rows (a vector is 32 k of a row: what k-contiguous
// sources give and AMX wants of A) or by pairs (a vector is 16 rows of two k: what row-contiguous sources give, and
// what VDPBF16PS and AMX want of B); where source and target differ, a 16 x 16 transposition of words stands between.
#pragma once

#if defined(__x86_64__)

#include "attend/cpu/gemm/avx512.h"
#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

struct Bf16Planes {
  __m512i hi, lo;
};

// 32 values: the 16 of x, then the 16 of y.
template <int kPlanes>
ATTEND_AVX512_INLINE Bf16Planes to_planes(__m512 x, __m512 y) {
  const __m512i hi = (__m512i)_mm512_cvtne2ps_pbh(y, x);
  if constexpr (kPlanes == 1) return {hi, hi};
  const __m512i wide_x = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(hi)), 16);
  const __m512i wide_y = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(hi, 1)), 16);
  const __m512 rest_x = _mm512_sub_ps(x, _mm512_castsi512_ps(wide_x));
  const __m512 rest_y = _mm512_sub_ps(y, _mm512_castsi512_ps(wide_y));
  return {hi, (__m512i)_mm512_cvtne2ps_pbh(rest_y, rest_x)};
}

template <DType kFrom>
ATTEND_AVX512_INLINE __m512 load_wide(const std::byte* from, __mmask16 mask) {
  if constexpr (kFrom == DType::f32) return _mm512_maskz_loadu_ps(mask, from);
  const __m256i half = _mm256_maskz_loadu_epi16(mask, from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

// A block by rows, from a k-contiguous source.
template <DType kFrom, int kPlanes>
ATTEND_AVX512_INLINE void block_by_rows(const Operand& from, int rows, int k, std::byte* hi, std::byte* lo) {
  constexpr std::int64_t kBytes = kFrom == DType::f32 ? 4 : 2;
  const __mmask16 first = lanes(k), second = lanes(k - 16);
  for (int r = 0; r < 16; ++r) {
    if (r >= rows) {
      _mm512_storeu_si512(hi + 64 * r, _mm512_setzero_si512());
      if constexpr (kPlanes == 2) _mm512_storeu_si512(lo + 64 * r, _mm512_setzero_si512());
      continue;
    }
    const std::byte* row = from.data + r * from.row_step * kBytes;
    if constexpr (kFrom == DType::bf16 && kPlanes == 1) {
      const __mmask32 mask = static_cast<__mmask32>(first) | static_cast<__mmask32>(second) << 16;
      _mm512_storeu_si512(hi + 64 * r, _mm512_maskz_loadu_epi16(mask, row));
    } else {
      const Bf16Planes p =
          to_planes<kPlanes>(load_wide<kFrom>(row, first), load_wide<kFrom>(row + 16 * kBytes, second));
      _mm512_storeu_si512(hi + 64 * r, p.hi);
      if constexpr (kPlanes == 2) _mm512_storeu_si512(lo + 64 * r, p.lo);
    }
  }
}

// A block by pairs, from a row-contiguous source: pair p at p * pitch, only the lanes of `write`.
template <DType kFrom, int kPlanes>
ATTEND_AVX512_INLINE void block_by_pairs(const Operand& from, int rows, int k, std::byte* hi, std::byte* lo,
                                         std::int64_t pitch, __mmask16 write) {
  constexpr std::int64_t kBytes = kFrom == DType::f32 ? 4 : 2;
  const __m512i interleave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                                              6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const std::int64_t step = from.k_step * kBytes;
  for (int p = 0; p < 16; ++p) {
    const __mmask16 even = 2 * p < k ? lanes(rows) : lanes(0), odd = 2 * p + 1 < k ? lanes(rows) : lanes(0);
    const std::byte* row = from.data + 2 * p * step;
    const Bf16Planes planes = to_planes<kPlanes>(load_wide<kFrom>(row, even), load_wide<kFrom>(row + step, odd));
    _mm512_mask_storeu_epi32(hi + p * pitch, write, _mm512_permutexvar_epi16(interleave, planes.hi));
    if constexpr (kPlanes == 2)
      _mm512_mask_storeu_epi32(lo + p * pitch, write, _mm512_permutexvar_epi16(interleave, planes.lo));
  }
}

// [k / 32][planes][width][32]: the rows of A as AMX tiles. width is a multiple of 16.
template <DType kFrom, int kPlanes>
ATTEND_AVX512 void pack_tiles(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  alignas(64) std::byte hi[1024], lo[1024];
  const RowOffsets whole = row_offsets(64, 16);
  for (std::int64_t kk = 0; kk < k; kk += 32) {
    const int depth = k - kk < 32 ? static_cast<int>(k - kk) : 32;
    std::byte* step = to + kk * width * 2 * kPlanes;
    for (int r = 0; r < width; r += 16) {
      const Operand block = from.at(r < rows ? r : 0, kk);
      std::byte* out_hi = step + 64 * r;
      std::byte* out_lo = step + 64 * (width + r);
      if (from.k_step == 1) {
        block_by_rows<kFrom, kPlanes>(block, rows - r, depth, out_hi, out_lo);
      } else {
        block_by_pairs<kFrom, kPlanes>(block, rows - r, depth, hi, lo, 64, 0xffff);
        transpose_words(hi, whole, out_hi, 64, 0xffff, 16);
        if constexpr (kPlanes == 2) transpose_words(lo, whole, out_lo, 64, 0xffff, 16);
      }
    }
  }
}

// [k / 32][planes][16 pairs][width][2]: any width.
template <DType kFrom, int kPlanes>
ATTEND_AVX512 void pack_pairs(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  alignas(64) std::byte hi[1024], lo[1024];
  const RowOffsets whole = row_offsets(64, 16);
  const std::int64_t pitch = 4 * width;
  for (std::int64_t kk = 0; kk < k; kk += 32) {
    const int depth = k - kk < 32 ? static_cast<int>(k - kk) : 32;
    std::byte* step = to + kk * width * 2 * kPlanes;
    for (int r = 0; r < width; r += 16) {
      const Operand block = from.at(r < rows ? r : 0, kk);
      const __mmask16 write = lanes(width - r);
      std::byte* out_hi = step + 4 * r;
      std::byte* out_lo = step + 16 * pitch + 4 * r;
      if (from.k_step == 1) {
        block_by_rows<kFrom, kPlanes>(block, rows - r, depth, hi, lo);
        transpose_words(hi, whole, out_hi, pitch, write, 16);
        if constexpr (kPlanes == 2) transpose_words(lo, whole, out_lo, pitch, write, 16);
      } else {
        block_by_pairs<kFrom, kPlanes>(block, rows - r, depth, out_hi, out_lo, pitch, write);
      }
    }
  }
}

// Pack functions for a Kernel.
template <int kPlanes>
void pack_bf16_tiles(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  from.dtype == DType::f32 ? pack_tiles<DType::f32, kPlanes>(from, rows, width, k, to)
                           : pack_tiles<DType::bf16, kPlanes>(from, rows, width, k, to);
}

template <int kPlanes>
void pack_bf16_pairs(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  from.dtype == DType::f32 ? pack_pairs<DType::f32, kPlanes>(from, rows, width, k, to)
                           : pack_pairs<DType::bf16, kPlanes>(from, rows, width, k, to);
}

}  // namespace attend::cpu::detail

#endif
