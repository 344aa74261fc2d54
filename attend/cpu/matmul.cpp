// Products of tensors: strides and batches for the matrix product in gemm.h.
#include "attend/base/error.h"
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

// A residual that lies as c does is read on the way out.
bool lies_beside(const Tensor& residual, const Tensor& c) {
  return residual.dtype() == c.dtype() && residual.row_stride() == c.row_stride();
}

cpu::GemmOutput output_of(const MatMul& product, const Grad& c) {
  const Tensor &bias = product.bias, &residual = product.residual;
  const bool beside = residual.defined() && lies_beside(residual, c.into);
  return {.c = c.into.raw(),
          .c_dtype = c.into.dtype(),
          .c_stride = c.into.row_stride(),
          .alpha = product.alpha,
          .accumulate = c.accumulate,
          .bias = bias.defined() ? bias.raw() : nullptr,
          .bias_dtype = bias.defined() ? bias.dtype() : DType::f32,
          .activation = product.activation,
          .pre = cpu::raw_or_null(product.pre),
          .residual = beside ? residual.raw() : nullptr};
}

}  // namespace

void CpuBackend::matmul(const MatMul& product, const Grad& target) {
  Grad c = target;
  if (!c || c.into.size() == 0) return;
  if (product.residual.defined() && !lies_beside(product.residual, c.into)) {
    check(product.activation == Activation::none, "matmul: cpu: a residual {} before an activation must lie as c does",
          product.residual.shape());
    scale(product.residual, 1, c);
    c.accumulate = true;
  }
  const cpu::GemmOutput out = output_of(product, c);
  if (const cpu::CpuPackedWeight* packed = cpu::packed_weight_of(product.b))
    return packed->multiply(product, out, pool_, recording_);
  cpu::Gemm gemm{.m = c.into.dim(-2),
                 .n = c.into.dim(-1),
                 .k = product.transpose_a ? product.a.dim(-2) : product.a.dim(-1),
                 .a = matrix_of(product.a, product.transpose_a),
                 .b = matrix_of(product.b, product.transpose_b)};
  gemm.set_output(out);
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
