// arm64: products of pairs of rows by pairs of columns: bf16 and f32 split into bf16 pieces (BFMMLA), int8 (SMMLA). An
// instruction multiplies 2 rows x 16 bytes of k by 2 columns; a sum is a 2 x 2 block of the tile.
#pragma once

#if defined(__aarch64__)

#include "attend/cpu/gemm/neon_tile.h"

namespace attend::cpu::detail {

// In assembly and volatile: the order in which they are written is the one in which the registers suffice.
struct Bf16Pairs {
  using Sum = float32x4_t;
  using Number = float;
  static constexpr int kUnit = 4, kPlanes = 1;
  ATTEND_NEON_INLINE static Sum zero() { return vdupq_n_f32(0); }
  ATTEND_NEON_INLINE static Sum step(Sum sum, uint8x16_t a, uint8x16_t b) {
    asm volatile(ATTEND_MATRIX_ARCH "bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(a), "w"(b));
    return sum;
  }
};

// Two planes, hi and lo: hi * hi + hi * lo + lo * hi.
struct SplitPairs : Bf16Pairs {
  static constexpr int kPlanes = 2;
};

struct Int8Pairs {
  using Sum = int32x4_t;
  using Number = std::int32_t;
  static constexpr int kUnit = 8, kPlanes = 1;
  ATTEND_NEON_INLINE static Sum zero() { return vdupq_n_s32(0); }
  ATTEND_NEON_INLINE static Sum step(Sum sum, uint8x16_t a, uint8x16_t b) {
    asm volatile(ATTEND_MATRIX_ARCH "smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
    return sum;
  }
};

ATTEND_NEON_INLINE uint8x16_t load_bytes(const std::byte* from) {
  return vld1q_u8(reinterpret_cast<const std::uint8_t*>(from));
}

template <class Step, int Pairs, int Panels>
struct PairSums {
  typename Step::Sum of[Panels][Pairs][6];

  ATTEND_NEON_INLINE void clear() {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 4
      for (int r = 0; r < Pairs; ++r)
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) of[p][r][j] = Step::zero();
  }

  // += rows x by column pairs j and j + 1, which lie at w.
  ATTEND_NEON_INLINE void two_columns(int p, int j, const uint8x16_t (&x)[Pairs], const std::byte* w) {
    const uint8x16_t left = load_bytes(w + 16 * j), right = load_bytes(w + 16 * j + 16);
#pragma GCC unroll 4
    for (int r = 0; r < Pairs; ++r) of[p][r][j] = Step::step(of[p][r][j], x[r], left);
#pragma GCC unroll 4
    for (int r = 0; r < Pairs; ++r) of[p][r][j + 1] = Step::step(of[p][r][j + 1], x[r], right);
  }

  // += `units` units of k of A by those of the panels, `apart` bytes apart, which are fetched `ahead` meanwhile: where
  // memory has to wait for the arithmetic, not with a pair alone, which the processor does better by itself (85 against
  // 93 % of the bandwidth).
  ATTEND_NEON_INLINE void add(const std::byte* a, const std::byte* b, std::int64_t units, std::int64_t apart,
                              std::int64_t ahead) {
    constexpr std::int64_t kA = 16 * Pairs, kB = 96;
#pragma GCC unroll 2
    for (; units > 0; --units, a += Step::kPlanes * kA, b += Step::kPlanes * kB) {
#pragma GCC unroll 2
      for (int plane = 0; plane < Step::kPlanes; ++plane) {
        uint8x16_t x[Pairs];
#pragma GCC unroll 4
        for (int r = 0; r < Pairs; ++r) x[r] = load_bytes(a + plane * kA + 16 * r);
        // Not a pointer that it knows: it would keep the columns of the first plane, and has no registers for them.
        // (With one plane this would only be an instruction more, which costs 8 % in L1.)
        const std::byte* w = b;
        if constexpr (Step::kPlanes > 1) asm volatile("" : "+r"(w));
#pragma GCC unroll 4
        for (int p = 0; p < Panels; ++p, w += apart) {
#pragma GCC unroll 3
          for (int j = 0; j < 6; j += 2) {
            two_columns(p, j, x, w);
            if (plane < Step::kPlanes - 1) two_columns(p, j, x, w + kB);
            if (j == 0 && Pairs > 1) fetch(w + plane * kB, ahead);
            if (j == 2 && p == 0 && plane == 0) fetch(a, 512);
          }
        }
      }
    }
  }

  ATTEND_NEON_INLINE void write(const TileProduct& t, int first) const {
    auto* tile = reinterpret_cast<typename Step::Number*>(t.tile) + first * t.tile_panel;
    const std::int64_t panel = t.tile_panel, stride = t.tile_stride;
    const int rows = t.rows;
    const bool add = t.add;
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p, tile += panel)
      add ? put_blocks<true>(of[p], tile, stride, rows) : put_blocks<false>(of[p], tile, stride, rows);
  }
};

template <class Step, int Pairs, int Panels>
void multiply_pairs(const TileProduct& t) {
  PairSums<Step, Pairs, Panels> sums;
  sums.clear();
  sums.add(t.a, t.b, t.k / Step::kUnit, t.b_panel, t.b_ahead);
  sums.write(t, 0);
}

// The sums of one panel fill the registers: panels take turns of some units of k, while the sums of the others wait in
// the nearest cache.
template <class Step, int Pairs>
void multiply_pairs_in_turns(const TileProduct& t) {
  constexpr std::int64_t kTurn = 32 / Step::kPlanes;
  PairSums<Step, Pairs, 1> waiting[kStreamsOfMany];
  for (auto& sums : waiting) sums.clear();
  for (std::int64_t done = 0, units = t.k / Step::kUnit; done < units; done += kTurn)
    for (int p = 0; p < t.panels; ++p) {
      PairSums<Step, Pairs, 1> sums = waiting[p];
      sums.add(t.a + done * t.a_k, t.b + p * t.b_panel + done * t.b_k, units - done < kTurn ? units - done : kTurn, 0,
               t.b_ahead);
      waiting[p] = sums;
    }
  for (int p = 0; p < t.panels; ++p) waiting[p].write(t, p);
}

// Several panels at once: far-apart streams, which memory reads fastest. Each element is summed in the same order.
template <class Step>
void multiply_pairs_in_streams(const TileProduct& t) {
  if (t.rows > 6) return multiply_pairs_in_turns<Step, 4>(t);
  if (t.rows > 4) return multiply_pairs_in_turns<Step, 3>(t);
  if (t.rows > 2) return multiply_pairs<Step, 2, 2>(t);
  t.panels == 2 ? multiply_pairs<Step, 1, 2>(t) : multiply_pairs<Step, 1, kStreams>(t);
}

}  // namespace attend::cpu::detail

#endif
