// The choice of kernels for a machine, and what all have in common.
#include <cstring>

#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

float Kernel::quantise(const FloatRow& from, std::int64_t k, std::int64_t padded, int offset, std::byte* to) const {
  const float most = largest(from, k);
  round(from, k, most > 0 ? 127.0f / most : 0.0f, offset, to);
  std::memset(to + k, offset & 0xff, static_cast<std::size_t>(padded - k));
  return most / 127.0f;
}

KernelSet choose_kernels(const Features& features) {
  KernelSet best = generic_kernels();
  const auto prefer = [&](const KernelSet& set) {
    if (set.f32 != nullptr) best.f32 = set.f32;
    if (set.split != nullptr) best.split = set.split;
    if (set.bf16 != nullptr) best.bf16 = set.bf16;
    if (set.int8 != nullptr) best.int8 = set.int8;
  };
  if (features.avx2) prefer(avx2_kernels());
  if (features.avx512) prefer(avx512_kernels(features));
  if (features.amx_bf16 || features.amx_int8) prefer(amx_kernels(features));
  if (features.neon) prefer(neon_kernels(features));
  if (features.wasm) prefer(wasm_kernels());
  return best;
}

}  // namespace attend::cpu::detail
