// Few rows by bf16 weights that lie row by row with k contiguous (DotProduct), on AMX. The weights are the first
// operand of the tile product, so that a load takes 16 of their rows by 32 k from where they lie; the rows of A are the
// second, packed in pairs of k. What comes out is C turned, 16 columns by 16 rows. Sums are taken in the order of the
// packed products.
#pragma once

#if defined(__x86_64__)

#include "attend/cpu/gemm/avx512.h"
#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

constexpr int kDotColumns = 32;

// turned [32, 16] = 32 rows of weights by the packed rows of A. Meanwhile the next 32 come to L2 one line after the
// other, which memory gives fastest: fetched in the order of the tiles, 64 bytes from each row, they came no faster
// than to vectors (46 % of a thread's bandwidth at 8 rows, and 64 to 72 % so).
__attribute__((target("amx-tile,amx-bf16,avx512f"))) inline void dot_tiles(const DotProduct& d, const std::byte* b,
                                                                           float* turned) {
  _tile_zero(0);
  _tile_zero(1);
  const std::int64_t steps = d.k / 32, row = d.b_row;
  const std::byte* a = d.a_packed;
  const std::byte* fetch = b + kDotColumns * row;
  for (std::int64_t s = 0; s < steps; ++s, a += 1024, fetch += 2048) {
    _tile_loadd(6, a, 64);
    _tile_loadd(4, b + 64 * s, row);
    _tile_dpbf16ps(0, 4, 6);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) _mm_prefetch(reinterpret_cast<const char*>(fetch + i * 64), _MM_HINT_T1);
    _tile_loadd(5, b + 64 * s + 16 * row, row);
    _tile_dpbf16ps(1, 5, 6);
#pragma GCC unroll 16
    for (int i = 16; i < 32; ++i) _mm_prefetch(reinterpret_cast<const char*>(fetch + i * 64), _MM_HINT_T1);
  }
  _tile_stored(0, turned, 64);
  _tile_stored(1, turned + 256, 64);
}

ATTEND_AVX512 inline void turn_back(const float* turned, const DotProduct& d, int col) {
  const RowOffsets rows = row_offsets(64, 16);
  for (int half = 0; half < 2; ++half)
    transpose_words(reinterpret_cast<const std::byte*>(turned + 256 * half), rows,
                    reinterpret_cast<std::byte*>(d.tile + col + 16 * half), 4 * d.tile_stride, 0xffff, d.rows);
}

// Columns in 32s; the last of them overlap those before.
inline void dot_amx(const DotProduct& d) {
  alignas(64) float turned[kDotColumns * 16];
  for (int col = 0; col < d.cols; col += kDotColumns) {
    const int from = col + kDotColumns <= d.cols ? col : d.cols - kDotColumns;
    dot_tiles(d, d.b + from * d.b_row, turned);
    turn_back(turned, d, from);
  }
}

}  // namespace attend::cpu::detail

#endif
