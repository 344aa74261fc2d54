// arm64: tiles of 8 x 12, and the product of a few rows by several packed panels at once.
#pragma once

#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstring>

#include "attend/cpu/gemm/kernel.h"

#define ATTEND_BF16 __attribute__((target("arch=armv8.2-a+bf16")))
#define ATTEND_I8MM __attribute__((target("arch=armv8.2-a+i8mm")))

namespace attend::cpu::detail {

constexpr int kRows = 8, kColumns = 12;

// tile [rows][12] (+)= raw, of the same order.
template <class T>
void add_rows(const T* raw, const TileProduct& t) {
  T* tile = reinterpret_cast<T*>(t.tile);
  for (int i = 0; i < t.rows * kColumns; ++i) tile[i] = t.add ? tile[i] + raw[i] : raw[i];
}

// raw: [row pairs][6][2 x 2] to tile rows.
template <class T>
void add_blocks(const T* raw, const TileProduct& t) {
  T rows[kRows * kColumns];
  for (int pair = 0; pair < (t.rows + 1) / 2; ++pair)
    for (int j = 0; j < 6; ++j) {
      const T* block = raw + (pair * 6 + j) * 4;
      std::memcpy(rows + 2 * pair * kColumns + 2 * j, block, 8);
      std::memcpy(rows + (2 * pair + 1) * kColumns + 2 * j, block + 2, 8);
    }
  add_rows(rows, t);
}

// A few rows by four panels of B at once, or by two (TileProduct::panels): far-apart streams, which memory reads
// fastest. Each element is summed in the order in which the other functions sum it.
constexpr int kStreams = 4, kStreamRows = 2, kF32StreamRows = 4;

template <int Rows, int Panels>
void multiply_f32_streams(const TileProduct& t, int first) {
  float32x4_t acc[Panels][Rows][3];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) acc[p][r][0] = acc[p][r][1] = acc[p][r][2] = vdupq_n_f32(0);
  const std::byte* a = t.a;
  const std::byte* b = t.b + first * t.b_panel;
  for (std::int64_t k = 0; k < t.k; ++k, a += t.a_k, b += t.b_k) {
    float32x4_t x[Rows];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) x[r] = vld1q_dup_f32(reinterpret_cast<const float*>(a + r * t.a_row));
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const std::byte* from = b + p * t.b_panel;
      __builtin_prefetch(from + 1024);
#pragma GCC unroll 3
      for (int v = 0; v < 3; ++v) {
        const float32x4_t w = vld1q_f32(reinterpret_cast<const float*>(from) + 4 * v);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) acc[p][r][v] = vfmaq_f32(acc[p][r][v], w, x[r]);
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < 3; ++v) {
        float* to = t.tile + (first + p) * t.tile_panel + r * kColumns + 4 * v;
        vst1q_f32(to, t.add ? vaddq_f32(acc[p][r][v], vld1q_f32(to)) : acc[p][r][v]);
      }
}

// As many panels at once as the registers hold the sums of.
inline void multiply_f32_in_streams(const TileProduct& t) {
  if (t.rows <= 2 && t.panels == kStreams)
    return t.rows == 1 ? multiply_f32_streams<1, kStreams>(t, 0) : multiply_f32_streams<2, kStreams>(t, 0);
  static constexpr void (*kByRows[])(const TileProduct&, int) = {
      multiply_f32_streams<1, 2>, multiply_f32_streams<2, 2>, multiply_f32_streams<3, 2>, multiply_f32_streams<4, 2>};
  for (int first = 0; first < t.panels; first += 2) kByRows[t.rows - 1](t, first);
}

// The sums of the panels, [panel][6][2 x 2], to their tiles.
template <int Panels, class T>
void add_streams(const T* raw, const TileProduct& t) {
  TileProduct one = t;
  for (int p = 0; p < Panels; ++p, one.tile += t.tile_panel) add_blocks(raw + p * 24, one);
}

// kPlanes 2: f32 split into bf16 pieces, hi*hi + hi*lo + lo*hi.
template <int kPlanes, int Panels>
ATTEND_BF16 void multiply_bf16_streams(const TileProduct& t) {
  float32x4_t acc[Panels][6];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) acc[p][j] = vdupq_n_f32(0);
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  for (std::int64_t k = t.k / 4; k > 0; --k, a += 16 * kPlanes, b += 96 * kPlanes) {
    const bfloat16x8_t x = vld1q_bf16(reinterpret_cast<const bfloat16_t*>(a));
    const bfloat16x8_t rest = vld1q_bf16(reinterpret_cast<const bfloat16_t*>(a + 16 * (kPlanes - 1)));
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const std::byte* from = b + p * t.b_panel;
      __builtin_prefetch(from + 1024);
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) {
        const bfloat16x8_t high = vld1q_bf16(reinterpret_cast<const bfloat16_t*>(from + 16 * j));
        acc[p][j] = vbfmmlaq_f32(acc[p][j], x, high);
        if constexpr (kPlanes == 2) {
          acc[p][j] = vbfmmlaq_f32(acc[p][j], x, vld1q_bf16(reinterpret_cast<const bfloat16_t*>(from + 96 + 16 * j)));
          acc[p][j] = vbfmmlaq_f32(acc[p][j], rest, high);
        }
      }
    }
  }
  alignas(16) float raw[Panels * 24];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) vst1q_f32(raw + (p * 6 + j) * 4, acc[p][j]);
  add_streams<Panels>(raw, t);
}

template <int Panels>
ATTEND_I8MM void multiply_int8_streams(const TileProduct& t) {
  int32x4_t acc[Panels][6];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) acc[p][j] = vdupq_n_s32(0);
  const std::int8_t* a = reinterpret_cast<const std::int8_t*>(t.a);
  const std::int8_t* b = reinterpret_cast<const std::int8_t*>(t.b);
  for (std::int64_t k = t.k / 8; k > 0; --k, a += 16, b += 96) {
    const int8x16_t x = vld1q_s8(a);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const std::int8_t* from = b + p * t.b_panel;
      __builtin_prefetch(from + 1024);
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) acc[p][j] = vmmlaq_s32(acc[p][j], x, vld1q_s8(from + 16 * j));
    }
  }
  alignas(16) std::int32_t raw[Panels * 24];
#pragma GCC unroll 4
  for (int p = 0; p < Panels; ++p)
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) vst1q_s32(raw + (p * 6 + j) * 4, acc[p][j]);
  add_streams<Panels>(raw, t);
}

}  // namespace attend::cpu::detail

#endif
