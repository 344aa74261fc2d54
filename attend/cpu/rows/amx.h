// Tile products on Intel's matrix unit (AMX) for attention. A tile is 16 rows of 64 bytes: 16 x 32 bf16 on the left,
// 16 pairs of rows x 16 columns on the right, 16 x 16 f32 sums. f32 numbers are split into two bf16 pieces and
// multiplied as hi·hi + hi·lo + lo·hi (error about 4e-6 of |a| |b|); bf16 numbers need the first product only.
#pragma once

#include "attend/cpu/rows/attention_tile.h"

namespace attend::cpu::ATTEND_ROWS {

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Every tile is whole: what does not fill one is padded.
struct Tiles {
  __attribute__((always_inline)) Tiles() {
    const TileConfig config;
    asm volatile("" ::"r"(&config) : "memory");  // all 64 bytes of it, of which GCC sees 8 used
    _tile_loadconfig(&config);
  }
  __attribute__((always_inline)) ~Tiles() { _tile_release(); }
};

// Rows of bf16 numbers, or of pairs of them on the right side: the high pieces and, for f32, the low ones.
struct Pieces {
  Bf16Bits *high, *low;
  std::int64_t stride;  // in bf16 numbers
  Pieces at(std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = row * stride + column;
    return {high + offset, low + offset, stride};
  }
};

template <std::int64_t kSize>
struct PieceArray {
  alignas(64) Bf16Bits high[kSize];
  alignas(64) Bf16Bits low[kSize];
  Pieces with(std::int64_t stride) { return {high, low, stride}; }
};

// c [32 · m, 16 · n] (+)= a [.., 32 · depth] b. Two tiles of rows at a time share the tiles of b.
template <bool kSplit>
ATTEND_INLINE void tile_pair(const Pieces& a, const Pieces& b, std::int64_t depth, Result c) {
  const std::int64_t c_bytes = c.stride * 4, a_bytes = a.stride * 2, b_bytes = b.stride * 2;
  float* below = c.c + 16 * c.stride;
  if (c.accumulate) {
    _tile_loadd(0, c.c, c_bytes);
    _tile_loadd(1, below, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const Pieces right = b.at(16 * k, 0), top = a.at(0, 32 * k), bottom = a.at(16, 32 * k);
    _tile_loadd(6, right.high, b_bytes);
    _tile_loadd(2, top.high, a_bytes);
    _tile_loadd(3, bottom.high, a_bytes);
    _tile_dpbf16ps(0, 2, 6);
    _tile_dpbf16ps(1, 3, 6);
    if constexpr (kSplit) {
      _tile_loadd(7, right.low, b_bytes);
      _tile_loadd(4, top.low, a_bytes);
      _tile_dpbf16ps(0, 2, 7);
      _tile_loadd(5, bottom.low, a_bytes);
      _tile_dpbf16ps(1, 3, 7);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 5, 6);
    }
  }
  _tile_stored(0, c.c, c_bytes);
  _tile_stored(1, below, c_bytes);
}

// m, n in tiles (m even), depth in steps of 32.
template <bool kSplit>
ATTEND_INLINE void tile_product(std::int64_t m, std::int64_t n, std::int64_t depth, const Pieces& a, const Pieces& b,
                                Result c) {
  asm volatile("" ::: "memory");  // what was stored before must be in memory: GCC does not see what tiles load
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; i += 2)
      tile_pair<kSplit>(a.at(16 * i, 0), b.at(0, 32 * j), depth,
                        Result{c.c + 16 * i * c.stride + 16 * j, c.stride, c.accumulate});
}

// 16 f32 numbers as bf16 pieces: x = high + low + a rest of 2^-16.
ATTEND_INLINE void split(Vec x, HalfVec& high, HalfVec& low) {
  high = (HalfVec)_mm512_cvtneps_pbh((__m512)x);
  low = (HalfVec)_mm512_cvtneps_pbh((__m512)(x - widen(high)));
}

template <bool kSplit>
ATTEND_INLINE void store_pieces(const Pieces& to, std::int64_t offset, Vec x) {
  HalfVec high, low;
  split(x, high, low);
  __builtin_memcpy(to.high + offset, &high, sizeof high);
  if constexpr (kSplit) __builtin_memcpy(to.low + offset, &low, sizeof low);
}

// rows x width as a left side: row by row, zeros up to a whole step of 32 columns.
template <class E>
static void gather_left(const E* from, std::int64_t stride, std::int64_t rows, std::int64_t width, const Pieces& to) {
  constexpr bool kSplit = sizeof(E) == 4;
  const std::int64_t whole = (width + 31) / 32 * 32;
  for (std::int64_t r = 0; r < rows; ++r) {
    each(width, [&](std::int64_t i, auto part) {
      store_pieces<kSplit>(to, r * to.stride + i, load(from + r * stride + i, part));
    });
    for (std::int64_t i = to_lanes(width); i < whole; i += kLanes) store_pieces<kSplit>(to, r * to.stride + i, Vec{});
  }
}

// Two neighbouring numbers of 16 columns in one vector of 32-bit pairs.
ATTEND_INLINE void pair_up(Vec even, Vec odd, WordVec& high, WordVec& low) {
  HalfVec even_high, even_low, odd_high, odd_low;
  split(even, even_high, even_low);
  split(odd, odd_high, odd_low);
  high = spread(even_high) | (spread(odd_high) << 16);
  low = spread(even_low) | (spread(odd_low) << 16);
}

// rows x width as a right side of depth `rows`: pairs of rows, zeros up to a whole step of 32 rows and 16 columns.
template <class E, bool kSplit = sizeof(E) == 4>
static void gather_right(const E* from, std::int64_t stride, std::int64_t rows, std::int64_t width, const Pieces& to) {
  const std::int64_t whole = (rows + 31) / 32 * 32;
  for (std::int64_t r = 0; r < whole; r += 2)
    each(width, [&](std::int64_t i, auto part) {
      const Vec even = r < rows ? load(from + r * stride + i, part) : Vec{};
      const Vec odd = r + 1 < rows ? load(from + (r + 1) * stride + i, part) : Vec{};
      WordVec high, low;
      pair_up(even, odd, high, low);
      __builtin_memcpy(to.high + r / 2 * to.stride + 2 * i, &high, sizeof high);
      if constexpr (kSplit) __builtin_memcpy(to.low + r / 2 * to.stride + 2 * i, &low, sizeof low);
    });
}

// rows x width, transposed, as a right side of depth `width`: pairs of columns of row r stand in column r. Zeros up to
// a whole step of 32 columns and up to 16 rows.
template <class E>
static void gather_right_transposed(const E* from, std::int64_t stride, std::int64_t rows, std::int64_t width,
                                    const Pieces& to) {
  constexpr bool kSplit = sizeof(E) == 4;
  for (std::int64_t r = 0; r < rows; r += 16)
    for (std::int64_t i = 0; i < width; i += 32) {
      Vec high[16], low[16];
      const std::int64_t first = smaller(width - i, 16), second = smaller(width - i - 16, 16);
      for (int j = 0; j < 16; ++j) {
        HalfVec pieces[4] = {};
        if (r + j < rows) {
          const E* row = from + (r + j) * stride + i;
          split(load(row, Part{static_cast<int>(first)}), pieces[0], pieces[2]);
          if (second > 0) split(load(row + 16, Part{static_cast<int>(second)}), pieces[1], pieces[3]);
        }
        __builtin_memcpy(&high[j], pieces, sizeof high[j]);
        __builtin_memcpy(&low[j], pieces + 2, sizeof low[j]);
      }
      transpose(high);
      if constexpr (kSplit) transpose(low);
      for (int j = 0; j < 16; ++j) {
        const std::int64_t offset = (i / 2 + j) * to.stride + 2 * r;
        __builtin_memcpy(to.high + offset, &high[j], sizeof high[j]);
        if constexpr (kSplit) __builtin_memcpy(to.low + offset, &low[j], sizeof low[j]);
      }
    }
}

}  // namespace attend::cpu::ATTEND_ROWS
