// A constant weight as the CPU keeps it: the panels that its matrix product reads (gemm.h).
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "attend/base/thread_pool.h"
#include "attend/cpu/gemm.h"
#include "attend/cpu/winograd.h"
#include "attend/tensor/backend.h"

namespace attend::cpu {

class CpuPackedWeight final : public PackedWeight {
 public:
  CpuPackedWeight(const WeightToPack& weight, Precision precision, ThreadPool& pool);

  std::size_t bytes() const override { return weights_.bytes(); }
  DType form() const override { return form_; }
  void read(std::span<float> into) const override;

  // product.b is a tensor over this; out says where the result goes, and what is done to it.
  void multiply(const MatMul& product, const GemmOutput& out, ThreadPool& pool, Recording* recording) const;
  const PackedWeights& weights() const { return weights_; }
  // Those that windows of this kind are multiplied by; the first call may lay them out anew.
  const PackedWeights& weights(const Windows& windows, ThreadPool& pool) const;
  // The same for a convolution that is faster so, or null. The first call for a tile transforms the weights.
  const WinogradWeights* winograd(const Windows& windows, ThreadPool& pool) const;

 private:
  PackedWeights weights_;
  bool input_major_;
  DType form_;
  struct Transformed {
    std::once_flag once;
    std::unique_ptr<const WinogradWeights> weights;
  };
  mutable std::array<Transformed, 2> transformed_;  // for tiles of two and of four
  mutable std::once_flag laid_out_;
  mutable PackedWeights for_windows_;
};

// Null for a plain tensor.
inline const CpuPackedWeight* packed_weight_of(const Tensor& tensor) {
  return static_cast<const CpuPackedWeight*>(tensor.storage()->packed.get());
}

}  // namespace attend::cpu
