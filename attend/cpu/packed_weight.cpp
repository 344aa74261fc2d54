// Weights packed once: products and lookups read the panels, and the plain numbers are gone.
#include "attend/cpu/packed_weight.h"

#include <optional>
#include <vector>

#include "attend/base/error.h"
#include "attend/cpu/cpu_backend.h"

namespace attend {

namespace cpu {

CpuPackedWeight::CpuPackedWeight(const WeightToPack& weight, Precision precision, ThreadPool& pool)
    : weights_(PackedWeights::pack({.data = weight.values,
                                    .dtype = weight.dtype,
                                    .stride = weight.input_major ? weight.out : weight.in,
                                    .transposed = weight.input_major},
                                   weight.out, weight.in, weight.as, weight.exact ? Precision::exact : precision,
                                   pool)),
      input_major_(weight.input_major),
      form_(weight.as) {}

void CpuPackedWeight::read(std::span<float> into) const {
  const std::int64_t out = weights_.n(), in = weights_.k();
  check(static_cast<std::int64_t>(into.size()) == out * in, "pack: {} numbers read from {} x {}", into.size(), out, in);
  std::vector<float> column(static_cast<std::size_t>(in));
  for (std::int64_t row = 0; row < out; ++row) {
    if (!input_major_) {
      weights_.read_row(row, into.data() + row * in);
      continue;
    }
    weights_.read_row(row, column.data());
    for (std::int64_t i = 0; i < in; ++i)
      into[static_cast<std::size_t>(i * out + row)] = column[static_cast<std::size_t>(i)];
  }
}

void CpuPackedWeight::multiply(const MatMul& product, const GemmOutput& out, ThreadPool& pool,
                               Recording* recording) const {
  const Tensor &a = product.a, &b = product.b;
  const std::int64_t n = b.dim(product.transpose_b ? 0 : 1), k = b.dim(product.transpose_b ? 1 : 0);
  check(a.rank() == 2 && !product.transpose_a && b.window().offset == 0 && product.transpose_b != input_major_ &&
            n == weights_.n() && k == weights_.k(),
        "matmul: a packed weight {} is multiplied whole, as it was packed", b.shape());
  gemm_packed(
      {.m = a.dim(0), .a = a.raw(), .a_dtype = a.dtype(), .a_stride = a.row_stride(), .weights = &weights_, .out = out},
      pool, recording);
}

const PackedWeights& CpuPackedWeight::weights(const Windows& windows, ThreadPool& pool) const {
  std::call_once(laid_out_, [&] { for_windows_ = weights_.for_windows(windows, pool); });
  return for_windows_;
}

const WinogradWeights* CpuPackedWeight::winograd(const Windows& windows, ThreadPool& pool) const {
  const std::optional<WinogradTile> tile =
      weights_.may_filter() ? winograd_tile(windows, weights_.n(), weights_.speed()) : std::optional<WinogradTile>();
  if (!tile) return nullptr;
  Transformed& found = transformed_[*tile == WinogradTile::two ? 0 : 1];
  std::call_once(found.once, [&] { found.weights = std::make_unique<const WinogradWeights>(weights_, *tile, pool); });
  return found.weights.get();
}

}  // namespace cpu

std::shared_ptr<const PackedWeight> CpuBackend::pack(const WeightToPack& weight) {
  return std::make_shared<cpu::CpuPackedWeight>(weight, precision_, pool());
}

}  // namespace attend
