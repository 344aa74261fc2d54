// The CPU matrix product: c = act(alpha * op(a) op(b) + bias), with f32 accumulation on every path.
// One entry for products of two tensors, one for weights packed once at load. Results do not depend on the number
// of threads: K is never split between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "attend/base/dtype.h"
#include "attend/base/thread_pool.h"
#include "attend/cpu/windows.h"
#include "attend/tensor/activation.h"

namespace attend::cpu {

class Recording;

// How f32 products are done. exact: fused multiply-add in f32. split: each f32 as the sum of two bf16 pieces on the
// matrix units (AMX, BFMMLA), hi*hi + hi*lo + lo*hi with f32 accumulation: a relative error of about 4e-6 of
// |a| |b|, several times faster. Where the machine has no matrix unit, or the product is too small to gain, split
// is done exactly.
enum class Precision : std::uint8_t { exact, split };

// op(X) is rows x cols; element (i, j) is data[i * stride + j], or data[j * stride + i] when transposed.
struct Matrix {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t stride = 0;
  bool transposed = false;
};

// What happens to a product on its way out: v = alpha * product + bias + residual; pre = v; c = activation(v) (+ old
// c).
struct GemmOutput {
  void* c = nullptr;
  DType c_dtype = DType::f32;  // f32 or bf16
  std::int64_t c_stride = 0;
  float alpha = 1;
  bool accumulate = false;
  const void* bias = nullptr;  // [n], or none
  DType bias_dtype = DType::f32;
  Activation activation = Activation::none;
  void* pre = nullptr;             // the value before the activation, with c's dtype and stride, or none
  const void* residual = nullptr;  // the same
};

// c [m, n] from a [m, k] and b [k, n], both f32 or both bf16.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  Matrix a = {}, b = {};
  Windows windows = {};  // with x: the rows of a, whose dtype then is the only thing that counts of it
  void* c = nullptr;
  DType c_dtype = DType::f32;
  std::int64_t c_stride = 0;
  float alpha = 1;
  bool accumulate = false;
  const void* bias = nullptr;
  DType bias_dtype = DType::f32;
  Activation activation = Activation::none;
  void* pre = nullptr;
  const void* residual = nullptr;
  // Matrices apart from each other by these many elements; 0 shares one. pre and residual move with c.
  std::int64_t batch = 1, a_batch = 0, b_batch = 0, c_batch = 0;
  Precision precision = Precision::split;
  // Row i of c has the same bits whatever m is, as it has with packed weights: no kernel is chosen by m, and every
  // element is summed in the same order. Without it few rows are faster.
  bool rows_alike = false;

  GemmOutput output() const {
    return {c, c_dtype, c_stride, alpha, accumulate, bias, bias_dtype, activation, pre, residual};
  }
  void set_output(const GemmOutput& out) {
    c = out.c, c_dtype = out.c_dtype, c_stride = out.c_stride, alpha = out.alpha, accumulate = out.accumulate;
    bias = out.bias, bias_dtype = out.bias_dtype, activation = out.activation, pre = out.pre, residual = out.residual;
  }
};

void gemm(const Gemm& product, ThreadPool& pool);

// The weight of a linear layer, laid out once for this machine's kernels: PyTorch's Linear.weight, [n, k], so that
// y = x wᵀ. as: f32 (exact, or split into bf16 pieces where the machine gains from it), bf16 (rounded), or
// i8 (symmetric with one scale per output row; activations are quantised row by row as they come).
class PackedWeights {
 public:
  PackedWeights() = default;
  // w is [n, k]: f32 or bf16; transposed says that memory holds [k, n] (GPT-2's Conv1D).
  static PackedWeights pack(const Matrix& w, std::int64_t n, std::int64_t k, DType as,
                            Precision precision = Precision::split);
  static PackedWeights pack(const Matrix& w, std::int64_t n, std::int64_t k, DType as, Precision precision,
                            ThreadPool& pool);

  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  DType dtype() const { return dtype_; }
  bool empty() const { return !data_; }
  // Whether convolutions may be computed from these as f32 and not in pieces, and the multiply-adds in a cycle
  // otherwise.
  bool may_filter() const;
  double speed() const;
  std::size_t bytes() const { return bytes_; }
  const std::byte* data() const { return data_.get(); }
  // The same weights as convolutions of such windows read them fastest: these, or for images with few channels ones
  // with room behind each line of the window, as f32 where the kernel has no dot products of bytes.
  PackedWeights for_windows(const Windows& windows, ThreadPool& pool) const;
  // The k numbers of output row n: a row of a table that is both looked up and multiplied by.
  void read_row(std::int64_t row, float* to) const;

  struct Access;  // the kernels' side, in attend/cpu/gemm/packed.cpp

 private:
  std::int64_t n_ = 0, k_ = 0;
  DType dtype_ = DType::f32;
  const void* kernel_ = nullptr;  // whose layout this is
  std::shared_ptr<std::byte[]> data_;
  std::size_t bytes_ = 0;
};

// c [m, n] = act(alpha * a wᵀ + bias) with a [m, k] row by row, f32 or bf16, whatever the weights are kept as.
struct PackedGemm {
  std::int64_t m = 0;
  const void* a = nullptr;
  DType a_dtype = DType::f32;
  std::int64_t a_stride = 0;
  Windows windows = {};  // with x: the rows of a, which then is nothing
  const PackedWeights* weights = nullptr;
  GemmOutput out = {};
};

// With a recording the product is added to that and not done now.
void gemm_packed(const PackedGemm& product, ThreadPool& pool, Recording* recording = nullptr);

}  // namespace attend::cpu
