// The CUDA device: one GPU, one stream. Each kernel of the page (attend/tensor/backend.h) is defined in a .cu file of
// its own in this folder; attention in attention*.cu.
//
// All work goes to one stream in order, so kernels share one scratch area and nothing waits for anything else. This
// header needs no CUDA headers: anyone may include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attend/tensor/backend.h"

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace attend {

class GemmPlanner;

// What `attend devices` shows of a GPU.
struct CudaDevice {
  std::string name;
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
};

// The GPUs of this machine; empty, and no error, where there is no GPU or no driver.
std::vector<CudaDevice> cuda_devices();

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device = 0);
  ~CudaBackend() override;
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  // Every launch asks for the stream, so this is also where the calling thread is pointed at the device.
  cudaStream_t stream() const;
  int device() const { return device_; }
  int multiprocessors() const { return multiprocessors_; }
  bool capturing() const { return capturing_; }
  // At least this many bytes, 256-byte aligned, until the next kernel method asks: a method asks once and cuts the
  // memory up itself. Grows only, and never while capturing: the warm-up step before a capture has sized it.
  void* scratch(std::size_t bytes);

  std::string name() const override;
  bool on_host() const override { return false; }
  int device_number() const override { return device_; }
  void* native_stream() const override { return stream(); }

  void* allocate(std::size_t bytes) override;
  void free(void* data, std::size_t bytes) override;
  void to_device(void* to, const void* from, std::size_t bytes) override;
  void to_host(void* to, const void* from, std::size_t bytes) override;
  void to_device_async(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<AsyncReadback> readback(std::size_t bytes) override;
  void synchronize() override;
  void set_tuning(bool tunes) override { tunes_ = tunes; }
  bool tunes() const { return tunes_ && !capturing_; }
  std::unique_ptr<Graph> capture(const std::function<void()>& body) override;

  void fill(const Tensor& x, float value) override;
  void random(const Tensor& x, const RandomFill& fill) override;
  void scale(const Tensor& x, float alpha, const Grad& y) override;
  void scale_by(const Tensor& x, const Tensor& factor) override;
  void strided_copy(const Walk& from, const Walk& to, const Shape& extent, bool accumulate) override;

  void add(const Tensor& a, const Tensor& b, const Tensor& y) override;
  void multiply(const Tensor& a, const Tensor& b, const Grad& y) override;
  void activation(const Tensor& x, Activation kind, const Tensor& y) override;
  void activation_backward(const Tensor& dy, const Tensor& x, Activation kind, const Grad& dx,
                           const Grad& bias) override;
  void dropout(const Tensor& x, const Dropout& dropout, const Grad& y) override;

  void matmul(const MatMul& product, const Grad& c) override;
  bool norm_linear(const NormLinear& args, const Tensor& y) override;
  bool matmul_slope(const MatMul& product, const Tensor& c, const Grad& sums) override;
  bool has_products8() const override;
  void cast8(const Tensor& x, const Units8& units, const Tensor& y, const Tensor& transposed) override;
  void next_units8(const Tensor& scales) override;

  void embedding(const Tensor& ids, const Tensor& table, float scale, const Tensor& positions,
                 const Tensor& position_ids, const Tensor& y) override;
  void embedding_backward(const Tensor& dy, const Tensor& ids, float scale, const Grad& table) override;
  void put_rows(const Tensor& x, const Tensor& ids, const Tensor& table) override;

  void add_norm(const AddNorm& args, const Tensor& sum, const Tensor& y, const Tensor& mean,
                const Tensor& rstd) override;
  void add_norm_backward(const AddNorm& args, const Tensor& dy, const Tensor& dsum, const Tensor& mean,
                         const Tensor& rstd, const Grad& dx, const Grad& dbranch, const Grad& dweight,
                         const Grad& dbias, const Grad& branch_sums) override;
  void group_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd) override;
  void group_norm_backward(const GroupNorm& args, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                           const Grad& dx, const Grad& dweight, const Grad& dbias) override;

  void convolution(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   Activation activation, const Grad& y) override;
  void convolution_input(const Convolution& args, const Tensor& dy, const Tensor& weight, const Grad& dx) override;
  void convolution_weight(const Convolution& args, const Tensor& x, const Tensor& dy, const Grad& dweight) override;
  void pooling(const Pooling& args, const Tensor& x, const Tensor& y, const Tensor& index) override;
  void pooling_backward(const Pooling& args, const Tensor& dy, const Tensor& index, const Grad& dx) override;
  void resize(const Resizing& args, const Tensor& x, const Tensor& y) override;
  void resize_backward(const Resizing& args, const Tensor& dy, const Grad& dx) override;

  void attention(const Attention& args, const Tensor& y, const Tensor& lse) override;
  bool attention_backward(const Attention& args, const Tensor& y, const Tensor& lse, const Tensor& dy, const Grad& dq,
                          const Grad& dk, const Grad& dv, const Grad& dbias, const AttentionSums& sums) override;
  void attention_weights(const Attention& args, const Tensor& lse, const Tensor& weights) override;
  void additive_scores(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& scores) override;
  void additive_scores_backward(const Tensor& dscores, const Tensor& q, const Tensor& k, const Tensor& v,
                                const Grad& dq, const Grad& dk, const Grad& dv) override;

  void softmax(const Tensor& x, const Tensor& lengths, const Tensor& y) override;
  void softmax_backward(const Tensor& dy, const Tensor& y, const Grad& dx) override;
  void top_k(const Tensor& x, const Tensor& suppressed, const Tensor& values, const Tensor& ids,
             const Tensor& log_sums) override;
  void sample_tokens(const SampledTokens& args) override;
  void cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& class_weights, float smoothing,
                     std::int32_t ignore, const Tensor& losses, const Tensor& lse, const Tensor& total) override;
  void cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& targets,
                              const Tensor& class_weights, float smoothing, std::int32_t ignore, const Tensor& lse,
                              const Tensor& total, const Grad& dlogits) override;
  void cross_entropy_gradient(const Tensor& logits, const Tensor& targets, float smoothing, std::int32_t ignore,
                              const Tensor& total, const Tensor& losses, const Tensor& lse) override;
  void mean_loss(const Tensor& losses, const Tensor& targets, const Tensor& class_weights, std::int32_t ignore,
                 const Tensor& total) override;
  void box_distances(const Tensor& boxes, const Tensor& others, const Tensor& distances) override;
  void box_distances_backward(const Tensor& ddistances, const Tensor& boxes, const Tensor& others,
                              const Grad& dboxes) override;

  void consistency(const Tensor& logits, const Tensor& moments, const Tensor& mean) override;
  void consistency_backward(const Tensor& dmean, const Tensor& logits, const Tensor& moments,
                            const Grad& dlogits) override;
  void reduce(Reduction kind, const Tensor& x, const Grad& y, const Tensor& index) override;
  void reduce_backward(Reduction kind, const Tensor& dy, const Tensor& index, const Grad& dx) override;

  void rnn_step(const RnnStep& args, const Tensor& next_hidden, const Tensor& next_cell, const Tensor& saved) override;
  void rnn_step_backward(const RnnStep& args, const Tensor& saved, const Tensor& dnext_hidden, const Tensor& dnext_cell,
                         const Tensor& dfrom_input, const Tensor& dfrom_hidden, const Tensor& dhidden,
                         const Tensor& dcell) override;

  void gradient_norm(const Tensor& gradient, float max_norm, const Tensor& norm) override;
  void adamw(const Optimizer& args, float beta1, float beta2, float eps, const Tensor& m, const Tensor& v) override;
  void sgd(const Optimizer& args, float momentum, const Tensor& velocity) override;

 private:
  int device_ = 0;
  int multiprocessors_ = 1;
  cudaStream_t stream_ = nullptr;
  bool capturing_ = false, tunes_ = true;
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  std::vector<void*> outgrown_;  // smaller scratch areas and memory freed in a capture: graphs may still use them
  std::unique_ptr<GemmPlanner> gemm_;
};

}  // namespace attend
