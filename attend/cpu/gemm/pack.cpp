// See pack.h.
#include "attend/cpu/gemm/pack.h"

#include <algorithm>
#include <cstring>

#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

namespace {

typedef float Four __attribute__((vector_size(16)));

Four load(const float* from) {
  Four v;
  std::memcpy(&v, from, 16);
  return v;
}

// to[k][row] = from[row][k] for four rows and four k.
void transpose_four(const std::byte* const (&rows)[4], std::int64_t k, float* to, std::int64_t width) {
  const auto from = [&](int i) { return load(reinterpret_cast<const float*>(rows[i]) + k); };
  const Four a = from(0), b = from(1), c = from(2), d = from(3);
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four out[4] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                       __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                       __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int q = 0; q < 4; ++q) std::memcpy(to + q * width, &out[q], 16);
}

// A few words without a call.
void copy_row(const float* from, int count, float* to) {
  if (count > 16) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * 4);
    return;
  }
  int i = 0;
  for (; i + 4 <= count; i += 4) std::memcpy(to + i, from + i, 16);
  for (; i < count; ++i) std::memcpy(to + i, from + i, 4);
}

// 32-bit words of any meaning.
void pack_words(const Operand& from, int rows, int width, std::int64_t k, float* to) {
  const float* data = reinterpret_cast<const float*>(from.data);
  if (rows < width)
    for (std::int64_t kk = 0; kk < k; ++kk) std::fill(to + kk * width + rows, to + (kk + 1) * width, 0.0f);
  if (from.row_step == 1) {
    for (std::int64_t kk = 0; kk < k; ++kk) copy_row(data + kk * from.k_step, rows, to + kk * width);
    return;
  }
  const std::int64_t whole = k / 4 * 4;
  int r = 0;
  for (; r + 4 <= rows; r += 4) {
    const std::byte* four[4];
    for (int i = 0; i < 4; ++i) four[i] = from.data + from.bytes_to(r + i);
    for (std::int64_t kk = 0; kk < whole; kk += 4) transpose_four(four, kk, to + kk * width + r, width);
  }
  for (int i = 0; i < rows; ++i)
    for (std::int64_t kk = i < r ? whole : 0; kk < k; ++kk)
      std::memcpy(to + kk * width + i, from.data + from.bytes_to(i) + 4 * kk, 4);
}

}  // namespace

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
  pack_words({from.data, DType::f32, from.row_step / 4, 1, from.rows_at}, rows, width, k / 4,
             reinterpret_cast<float*>(to));
}

}  // namespace attend::cpu::detail
