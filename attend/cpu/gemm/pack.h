// Packing without an instruction set of its own: 4 x 4 transpositions with GCC vectors where the elements are words,
// plain loops elsewhere.
#pragma once

#include <cstring>

#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

// f32 [k][width] from f32 or bf16.
void pack_f32(const Operand& from, int rows, int width, std::int64_t k, std::byte* to);

// int8 [k / 4][width][4] from int8 with k contiguous and padded to words.
void pack_int8_words(const Operand& from, int rows, int width, std::int64_t k, std::byte* to);

// int8 [k / Unit][width][Unit] from int8 with k contiguous and padded.
template <int Unit>
void pack_int8(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  for (std::int64_t kk = 0; kk < k; kk += Unit)
    for (int r = 0; r < width; ++r, to += Unit)
      r < rows ? std::memcpy(to, from.data + r * from.row_step + kk, Unit) : std::memset(to, 0, Unit);
}

}  // namespace attend::cpu::detail
