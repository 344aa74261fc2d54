// Products of tensors: strides and batches for the matrix product in gemm.h.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/packed_weight.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

cpu::Matrix matrix_of(const Tensor& x, bool transposed) {
  return {.data = x.raw(), .dtype = x.dtype(), .stride = x.row_stride(), .transposed = transposed};
}

// Elements from one matrix of a batch to the next; 0 when there is only one.
std::int64_t batch_stride(const Tensor& x) { return x.rank() == 3 ? x.dim(1) * x.row_stride() : 0; }

}  // namespace

void CpuBackend::matmul(const MatMul& product, const Grad& target) {
  Grad c = target;
  if (!c || c.into.size() == 0) return;
  if (product.residual.defined()) {
    scale(product.residual, 1, c);
    c.accumulate = true;
  }
  if (const cpu::CpuPackedWeight* packed = cpu::packed_weight_of(product.b))
    return packed->multiply(product, c, pool_, recording_);
  cpu::Gemm gemm;
  gemm.m = c.into.dim(-2);
  gemm.n = c.into.dim(-1);
  gemm.k = product.transpose_a ? product.a.dim(-2) : product.a.dim(-1);
  gemm.a = matrix_of(product.a, product.transpose_a);
  gemm.b = matrix_of(product.b, product.transpose_b);
  gemm.c = c.into.raw();
  gemm.c_dtype = c.into.dtype();
  gemm.c_stride = c.into.row_stride();
  gemm.alpha = product.alpha;
  gemm.accumulate = c.accumulate;
  if (product.bias.defined()) gemm.bias = product.bias.raw(), gemm.bias_dtype = product.bias.dtype();
  gemm.activation = product.activation;
  gemm.pre = cpu::raw_or_null(product.pre);
  if (c.into.rank() == 3) {
    gemm.batch = c.into.dim(0);
    gemm.a_batch = batch_stride(product.a);
    gemm.b_batch = batch_stride(product.b);
    gemm.c_batch = batch_stride(c.into);
  }
  gemm.precision = precision_, gemm.rows_alike = batch_invariant_;
  cpu::gemm(gemm, pool());
}

}  // namespace attend
