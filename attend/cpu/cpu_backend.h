// The CPU as a Backend: every kernel of attend/tensor/backend.h in a file of its own beside this one. Loops over rows
// live in attend/cpu/rows/, compiled once for each instruction set and picked when the backend is made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "attend/base/thread_pool.h"
#include "attend/cpu/gemm.h"
#include "attend/cpu/recording.h"
#include "attend/tensor/backend.h"

namespace attend {

namespace cpu {
struct RowKernels;
}

struct CpuOptions {
  int threads = 0;  // 0: every core this process may use
  cpu::Precision precision = cpu::Precision::exact;
  bool batch_invariant = false;  // as BackendOptions say
  bool exact_prompts = false;
};

// Used by one thread at a time, like its pool.
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options = {});
  ~CpuBackend() override;
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  // For work that is not kept: what is being captured cannot be run again without it.
  ThreadPool& pool() {
    stop_recording();
    return pool_;
  }
  cpu::Precision precision() const { return precision_; }

  std::string name() const override { return "cpu"; }
  bool on_host() const override { return true; }
  bool exact_prompts() const override { return exact_prompts_; }

  void* allocate(std::size_t bytes) override;
  void set_interrupt(const std::function<void()>& check) override { interrupt_ = check; }
  void free(void* data, std::size_t bytes) override;
  void to_device(void* to, const void* from, std::size_t bytes) override;
  void to_host(void* to, const void* from, std::size_t bytes) override;
  void to_device_async(void* to, const void* from, std::size_t bytes) override;
  std::unique_ptr<AsyncReadback> readback(std::size_t bytes) override;
  void synchronize() override { stop_recording(); }
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
  std::shared_ptr<const PackedWeight> pack(const WeightToPack& weight) override;

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
  // Working memory that a kernel may use until it returns: kept from call to call, so it is paid for once.
  float* scratch(std::int64_t floats);
  // Adds `chunks` partial rows of `width` sums in order and puts them where the gradient goes.
  void finish_columns(const float* partial, std::int64_t chunks, std::int64_t stride, const Grad& sums);

  // Runs work.stages(), or keeps the work: see cpu::Recording.
  template <class Work>
  void run(Work work) {
    recording_ ? recording_->add(std::move(work)) : pool_.run(work.stages());
  }
  // What was kept is run now, and the rest of the step as it comes.
  void stop_recording();

  ThreadPool pool_;
  cpu::Recording* recording_ = nullptr;
  cpu::Precision precision_;
  bool batch_invariant_, exact_prompts_;
  const cpu::RowKernels& rows_;
  std::function<void()> interrupt_;
  float* scratch_ = nullptr;
  std::int64_t scratch_floats_ = 0;
};

}  // namespace attend
