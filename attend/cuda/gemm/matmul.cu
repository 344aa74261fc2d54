// Matrix products: cuBLASLt with what fits into its epilogue, our own kernels for few rows and for the rest.
#include "attend/cuda/gemm/fused_product.cuh"
#include "attend/cuda/gemm/gemv.cuh"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/activation.cuh"

namespace attend {
namespace cuda {
namespace {

// What cuBLASLt could not do on the way out: bias, keeping pre, the activation.
template <class T>
struct Finish {
  const T* from;
  const T* bias;
  T* pre;
  T* c;
  std::int64_t rows, from_stride, pre_stride, c_stride;
  int width;
  Activation kind;
};

template <class T, int N>
__global__ void finish_kernel(Finish<T> args) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  const int packs = args.width / N;
  const std::int64_t row = i / packs;
  const int column = static_cast<int>(i - row * packs) * N;
  if (row >= args.rows) return;
  float x[N];
  load(args.from + row * args.from_stride + column, x);
  if (args.bias) {
    float bias[N];
    load(args.bias + column, bias);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] += bias[j];
  }
  if (args.pre) store(args.pre + row * args.pre_stride + column, x);
  activate(args.kind, x);
  store(args.c + row * args.c_stride + column, x);
}

// from, pre and c have the extents [.., n] of c.
void finish(const CudaBackend& backend, const Tensor& from, const Tensor& bias, const Tensor& pre, Activation kind,
            const Tensor& c) {
  with_float(c.dtype(), "matmul", [&](auto type) {
    using T = typename decltype(type)::type;
    const Finish<T> args = {.from = pointer<T>(from),
                            .bias = pointer<T>(bias),
                            .pre = pointer<T>(pre),
                            .c = pointer<T>(c),
                            .rows = c.rows(),
                            .from_stride = from.row_stride(),
                            .pre_stride = pre.defined() ? pre.row_stride() : 0,
                            .c_stride = c.row_stride(),
                            .width = static_cast<int>(c.width()),
                            .kind = kind};
    constexpr int kThreads = 256;
    const bool wide = c.width() % kPack<T> == 0 && aligned16(bias) && rows_aligned16(from) && rows_aligned16(pre) &&
                      rows_aligned16(c);
    if (wide)
      finish_kernel<T, kPack<T>><<<blocks_for(c.size() / kPack<T>, kThreads), kThreads, 0, backend.stream()>>>(args);
    else
      finish_kernel<T, 1><<<blocks_for(c.size(), kThreads), kThreads, 0, backend.stream()>>>(args);
  });
  launch_check("matmul finish");
}

Gemm describe(const MatMul& product, const Grad& c) {
  const Tensor &a = product.a, &b = product.b;
  const bool batched = b.rank() == 3;
  Gemm gemm = {.lda = a.row_stride(),
               .ldb = b.row_stride(),
               .ldc = c.into.row_stride(),
               .transpose_a = product.transpose_a,
               .transpose_b = product.transpose_b,
               .settled_b = product.settled_b,
               .in = a.dtype(),
               .out = c.into.dtype(),
               .alpha = product.alpha,
               .beta = c.accumulate ? 1.0f : 0.0f};
  gemm.a = a.raw(), gemm.b = b.raw(), gemm.c = c.into.raw();
  if (gemm.in == DType::u8) {
    gemm.unit_a = product.a8.scale.raw(), gemm.unit_b = product.b8.scale.raw();
    gemm.format_a = product.a8.format, gemm.format_b = product.b8.format;
    gemm.fast = gemm.format_a == Float8::e4m3 && gemm.out == DType::bf16;  // forward: activations, not gradients
  }
  gemm.batch = batched ? b.dim(0) : 1;
  const std::int64_t a_rows = batched ? a.dim(1) : a.rows(), b_rows = b.dim(-2);
  gemm.m = product.transpose_a ? a.width() : a_rows;
  gemm.k = product.transpose_a ? a_rows : a.width();
  gemm.n = product.transpose_b ? b_rows : b.width();
  gemm.batch_a = a_rows * gemm.lda, gemm.batch_b = b_rows * gemm.ldb, gemm.batch_c = gemm.m * gemm.ldc;
  // A single row may carry any stride; cuBLASLt wants one no smaller than the width.
  gemm.lda = std::max(gemm.lda, a.width()), gemm.ldb = std::max(gemm.ldb, b.width());
  gemm.ldc = std::max(gemm.ldc, gemm.n);
  if (product.bias.defined()) gemm.bias = product.bias.raw();
  if (product.pre.defined()) gemm.pre = product.pre.raw(), gemm.ldpre = std::max(product.pre.row_stride(), gemm.n);
  return gemm;
}

// Puts the whole ending into cuBLASLt's epilogue, if it has one for it.
bool fit_epilogue(Gemm& gemm, Activation kind) {
  if (gemm.bias && !aligned16(gemm.bias)) return false;
  if (kind == Activation::gelu_tanh) {
    gemm.ending = Gemm::gelu_tanh;
    return !gemm.pre || (gemm.ldpre % 8 == 0 && aligned16(gemm.pre) && gemm.batch == 1);
  }
  if (gemm.pre) return false;
  if (kind == Activation::relu) gemm.ending = Gemm::relu;
  return kind == Activation::none || kind == Activation::relu;
}

}  // namespace
}  // namespace cuda

void CudaBackend::matmul(const MatMul& product, const Grad& c) {
  using namespace cuda;
  const Activation kind = product.activation;
  const Tensor &bias = product.bias, &pre = product.pre;
  check(!c.accumulate || (kind == Activation::none && !pre.defined()),
        "matmul: cuda: the result of an activation cannot be added to what is there");
  const Tensor& residual = product.residual;
  check(!residual.defined() || (kind == Activation::none && !pre.defined() && !c.accumulate),
        "matmul: cuda: a residual is added to a plain product only");
  check(!bias.defined() || bias.dtype() == c.into.dtype(), "matmul: cuda: bias is {} and c is {}",
        bias.defined() ? bias.dtype() : DType::f32, c.into.dtype());
  Gemm gemm = describe(product, c);
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return;
  if (residual.defined()) {
    gemm.beta = 1;
    if (gemm.m == 1 || residual.row_stride() == c.into.row_stride())
      gemm.added = residual.raw();
    else
      scale(residual, 1, c);
  }
  if (gemm.k == 0) {
    if (residual.defined())
      scale(residual, 1, c);
    else if (!c.accumulate)
      fill(c.into, 0);
    if (bias.defined() || kind != Activation::none || pre.defined()) finish(*this, c.into, bias, pre, kind, c.into);
    return;
  }
  if (gemv(*this, gemm, kind) || fused_product(*this, gemm, kind)) return;

  Gemm fused = gemm;
  if (fit_epilogue(fused, kind) && gemm_->run(fused)) return;

  // No: the product alone, with the bias if possible, and the rest in a kernel of ours. The product lands in pre when
  // that is kept, so that c is written once.
  Gemm bare = gemm;
  bare.pre = nullptr;
  bare.ending = Gemm::plain;
  const Tensor& first = pre.defined() ? pre : c.into;
  bare.c = first.raw(), bare.ldc = std::max(first.row_stride(), gemm.n), bare.batch_c = gemm.m * bare.ldc;
  bool biased = gemm.bias && aligned16(gemm.bias);
  if (!biased) bare.bias = nullptr;
  if (!gemm_->run(bare)) {
    bare.bias = nullptr, biased = false;
    check(gemm_->run(bare), "matmul: cuda: cuBLASLt has no algorithm for {} x {} x {} in {}", gemm.m, gemm.n, gemm.k,
          gemm.in);
  }
  const Tensor rest = biased ? Tensor() : bias;
  if (rest.defined() || kind != Activation::none || pre.defined())
    finish(*this, first, rest, rest.defined() ? pre : Tensor(), kind, c.into);
}

bool CudaBackend::matmul_slope(const MatMul& product, const Tensor& c, const Grad& sums) {
  using namespace cuda;
  if (c.size() == 0 || product.bias.defined() || product.residual.defined()) return false;
  return fused_product_backward(*this, describe(product, {c}), product.activation, sums);
}

}  // namespace attend
