// See bias.h.
#include "attend/cpu/gemm/bias.h"

#include <cstring>

#include "attend/cpu/activation_math.h"
#include "attend/cpu/gemm/scratch.h"

namespace attend::cpu::detail {

const void* bias_in_f32(const void* bias, DType dtype, std::int64_t n) {
  if (bias == nullptr || dtype == DType::f32) return bias;
  thread_local Scratch scratch;
  float* wide = reinterpret_cast<float*>(scratch.get(static_cast<std::size_t>(n) * 4));
  const Bf16* from = static_cast<const Bf16*>(bias);
  using Eight = Lanes<8>;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Eight::Half half;
    std::memcpy(&half, from + i, sizeof half);
    const Eight::Word words = __builtin_convertvector(half, Eight::Word) << 16;
    std::memcpy(wide + i, &words, sizeof words);
  }
  for (; i < n; ++i) wide[i] = from[i];
  return wide;
}

}  // namespace attend::cpu::detail
