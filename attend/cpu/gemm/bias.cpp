// See bias.h.
#include "attend/cpu/gemm/bias.h"

#include "attend/cpu/gemm/scratch.h"

namespace attend::cpu::detail {

const void* bias_in_f32(const void* bias, DType dtype, std::int64_t n) {
  if (bias == nullptr || dtype == DType::f32) return bias;
  thread_local Scratch scratch;
  float* wide = reinterpret_cast<float*>(scratch.get(static_cast<std::size_t>(n) * 4));
  for (std::int64_t i = 0; i < n; ++i) wide[i] = static_cast<const Bf16*>(bias)[i];
  return wide;
}

}  // namespace attend::cpu::detail
