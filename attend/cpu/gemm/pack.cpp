// See pack.h.
#include "attend/cpu/gemm/pack.h"

#include <algorithm>
#include <cstring>

#include "attend/cpu/gemm/scratch.h"

namespace attend::cpu::detail {

namespace {

typedef float Four __attribute__((vector_size(16)));
typedef std::int32_t Index __attribute__((vector_size(16)));

Four load(const float* from) {
  Four v;
  std::memcpy(&v, from, 16);
  return v;
}

// to[k][row] = from[row][k] for four rows and four k.
void transpose_four(const float* from, std::int64_t row_step, float* to, std::int64_t width) {
  const Four a = load(from), b = load(from + row_step), c = load(from + 2 * row_step), d = load(from + 3 * row_step);
  const Index low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, left = {0, 1, 4, 5}, right = {2, 3, 6, 7};
  const Four ab = __builtin_shuffle(a, b, low), cd = __builtin_shuffle(c, d, low);
  const Four ab_high = __builtin_shuffle(a, b, high), cd_high = __builtin_shuffle(c, d, high);
  const Four out[4] = {__builtin_shuffle(ab, cd, left), __builtin_shuffle(ab, cd, right),
                       __builtin_shuffle(ab_high, cd_high, left), __builtin_shuffle(ab_high, cd_high, right)};
  for (int q = 0; q < 4; ++q) std::memcpy(to + q * width, &out[q], 16);
}

// 32-bit words of any meaning.
void pack_words(const Operand& from, int rows, int width, std::int64_t k, float* to) {
  const float* data = reinterpret_cast<const float*>(from.data);
  if (rows < width)
    for (std::int64_t kk = 0; kk < k; ++kk) std::fill(to + kk * width + rows, to + (kk + 1) * width, 0.0f);
  if (from.row_step == 1) {
    for (std::int64_t kk = 0; kk < k; ++kk)
      std::memcpy(to + kk * width, data + kk * from.k_step, static_cast<std::size_t>(rows) * 4);
    return;
  }
  const std::int64_t whole = k / 4 * 4;
  int r = 0;
  for (; r + 4 <= rows; r += 4)
    for (std::int64_t kk = 0; kk < whole; kk += 4)
      transpose_four(data + r * from.row_step + kk, from.row_step, to + kk * width + r, width);
  for (int i = 0; i < rows; ++i)
    for (std::int64_t kk = i < r ? whole : 0; kk < k; ++kk)
      std::memcpy(to + kk * width + i, data + i * from.row_step + kk, 4);
}

// Four f32 as bf16, rounded to nearest even; a NaN stays one.
std::uint64_t round_four(Four x) {
  typedef std::uint32_t Word __attribute__((vector_size(16)));
  typedef std::uint16_t Half __attribute__((vector_size(8)));
  const Word w = (Word)x;
  const Word rounded = (w + 0x7fffu + ((w >> 16) & 1u)) >> 16, nan = (w >> 16) | 0x40u;
  const Half half = __builtin_convertvector(x == x ? rounded : nan, Half);
  std::uint64_t bits;
  std::memcpy(&bits, &half, 8);
  return bits;
}

Four widen_four(std::uint64_t bits) {
  typedef std::uint32_t Word __attribute__((vector_size(16)));
  typedef std::uint16_t Half __attribute__((vector_size(8)));
  Half half;
  std::memcpy(&half, &bits, 8);
  return (Four)(__builtin_convertvector(half, Word) << 16);
}

// Elements (row, k .. k + 3), zero from `count` on.
Four four_of_k(const Operand& from, std::int64_t row, std::int64_t k, std::int64_t count) {
  const std::byte* p = from.at(row, k).data;
  float x[4] = {};
  if (from.k_step == 1 && count >= 4) {
    if (from.dtype == DType::f32) return load(reinterpret_cast<const float*>(p));
    std::uint64_t bits;
    std::memcpy(&bits, p, 8);
    return widen_four(bits);
  }
  for (std::int64_t i = 0; i < std::min<std::int64_t>(4, count); ++i)
    x[i] = from.dtype == DType::f32 ? reinterpret_cast<const float*>(p)[i * from.k_step]
                                    : static_cast<float>(reinterpret_cast<const Bf16*>(p)[i * from.k_step]);
  return load(x);
}

}  // namespace

template <int kPlanes>
void pack_bf16_fours(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  alignas(16) float turned[16];
  for (std::int64_t kk = 0; kk < k; kk += 4, to += kPlanes * width * 8)
    for (int r = 0; r < width; ++r) {
      Four x{};
      if (r < rows && from.row_step == 1 && from.dtype == DType::f32 && k - kk >= 4 && rows - (r & ~3) >= 4) {
        // Rows contiguous: four k of four rows are turned at once.
        if ((r & 3) == 0) transpose_four(reinterpret_cast<const float*>(from.at(r, kk).data), from.k_step, turned, 4);
        x = load(turned + 4 * (r & 3));
      } else if (r < rows) {
        x = four_of_k(from, r, kk, k - kk);
      }
      const std::uint64_t high = round_four(x);
      std::memcpy(to + 8 * r, &high, 8);
      if constexpr (kPlanes == 2) {
        const std::uint64_t low = round_four(x - widen_four(high));
        std::memcpy(to + 8 * (width + r), &low, 8);
      }
    }
}

template void pack_bf16_fours<1>(const Operand&, int, int, std::int64_t, std::byte*);
template void pack_bf16_fours<2>(const Operand&, int, int, std::int64_t, std::byte*);

void pack_f32(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  float* out = reinterpret_cast<float*>(to);
  if (from.dtype == DType::f32) return pack_words(from, rows, width, k, out);
  // bf16: widened into a copy first, in the order it lies in memory.
  thread_local Scratch scratch;
  float* wide = reinterpret_cast<float*>(scratch.get(static_cast<std::size_t>(rows * k) * 4));
  const Bf16* data = reinterpret_cast<const Bf16*>(from.data);
  const bool by_rows = from.row_step == 1;
  const std::int64_t lines = by_rows ? k : rows, length = by_rows ? rows : k;
  const std::int64_t step = by_rows ? from.k_step : from.row_step;
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t i = 0; i < length; ++i) wide[line * length + i] = data[line * step + i];
  pack_words({reinterpret_cast<const std::byte*>(wide), DType::f32, by_rows ? 1 : k, by_rows ? rows : 1}, rows, width,
             k, out);
}

void pack_int8_words(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  pack_words({from.data, DType::f32, from.row_step / 4, 1}, rows, width, k / 4, reinterpret_cast<float*>(to));
}

}  // namespace attend::cpu::detail
