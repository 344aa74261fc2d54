// A device whose kernels do nothing and whose memory is the host's: what is left is the cost of the tape itself.
// Devices that only watch what is asked of them are made from it (counting_backend.h, and those of tests).
#pragma once

#include <cstdlib>
#include <cstring>

#include "attend/tensor/backend.h"

namespace attend {

class NullBackend : public Backend {
 public:
  std::string name() const override { return "null"; }
  bool on_host() const override { return true; }

  void* allocate(std::size_t bytes) override { return std::malloc(bytes + 1); }
  void free(void* data, std::size_t) override { std::free(data); }
  void to_device(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void to_host(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void to_device_async(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  std::unique_ptr<AsyncReadback> readback(std::size_t) override { return nullptr; }
  void synchronize() override {}
  std::unique_ptr<Graph> capture(const std::function<void()>& body) override {
    body();
    return nullptr;
  }

  void fill(const Tensor&, float) override {}
  void random(const Tensor&, const RandomFill&) override {}
  void scale(const Tensor&, float, const Grad&) override {}
  void scale_by(const Tensor&, const Tensor&) override {}
  void strided_copy(const Walk&, const Walk&, const Shape&, bool) override {}
  void add(const Tensor&, const Tensor&, const Tensor&) override {}
  void multiply(const Tensor&, const Tensor&, const Grad&) override {}
  void activation(const Tensor&, Activation, const Tensor&) override {}
  void activation_backward(const Tensor&, const Tensor&, Activation, const Grad&, const Grad&) override {}
  void dropout(const Tensor&, const Dropout&, const Grad&) override {}
  void matmul(const MatMul&, const Grad&) override {}
  void embedding(const Tensor&, const Tensor&, float, const Tensor&, const Tensor&, const Tensor&) override {}
  void embedding_backward(const Tensor&, const Tensor&, float, const Grad&) override {}
  void put_rows(const Tensor&, const Tensor&, const Tensor&) override {}
  void add_norm(const AddNorm&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void add_norm_backward(const AddNorm&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Grad&,
                         const Grad&, const Grad&, const Grad&, const Grad&) override {}
  void group_norm(const GroupNorm&, const Tensor&, const Tensor&, const Tensor&) override {}
  void group_norm_backward(const GroupNorm&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Grad&,
                           const Tensor&, const Grad&, const Grad&) override {}
  void convolution(const Convolution&, const Tensor&, const Tensor&, const Tensor&, Activation, const Grad&) override {}
  void convolution_input(const Convolution&, const Tensor&, const Tensor&, const Grad&) override {}
  void convolution_weight(const Convolution&, const Tensor&, const Tensor&, const Grad&) override {}
  void pooling(const Pooling&, const Tensor&, const Tensor&, const Tensor&) override {}
  void pooling_backward(const Pooling&, const Tensor&, const Tensor&, const Grad&) override {}
  void resize(const Resizing&, const Tensor&, const Tensor&) override {}
  void resize_backward(const Resizing&, const Tensor&, const Grad&) override {}
  void attention(const Attention&, const Tensor&, const Tensor&) override {}
  bool attention_backward(const Attention&, const Tensor&, const Tensor&, const Tensor&, const Grad&, const Grad&,
                          const Grad&, const Grad&, const AttentionSums&) override {
    return true;
  }
  void attention_weights(const Attention&, const Tensor&, const Tensor&) override {}
  void additive_scores(const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void additive_scores_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Grad&, const Grad&,
                                const Grad&) override {}
  void softmax(const Tensor&, const Tensor&, const Tensor&) override {}
  void softmax_backward(const Tensor&, const Tensor&, const Grad&) override {}
  void top_k(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {}
  void sample_tokens(const SampledTokens&) override {}
  void cross_entropy(const Tensor&, const Tensor&, const Tensor&, float, std::int32_t, const Tensor&, const Tensor&,
                     const Tensor&) override {}
  void cross_entropy_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, float, std::int32_t,
                              const Tensor&, const Tensor&, const Grad&) override {}
  void cross_entropy_gradient(const Tensor&, const Tensor&, float, std::int32_t, const Tensor&, const Tensor&,
                              const Tensor&) override {}
  void mean_loss(const Tensor&, const Tensor&, const Tensor&, std::int32_t, const Tensor&) override {}
  void box_distances(const Tensor&, const Tensor&, const Tensor&) override {}
  void box_distances_backward(const Tensor&, const Tensor&, const Tensor&, const Grad&) override {}
  void consistency(const Tensor&, const Tensor&, const Tensor&) override {}
  void consistency_backward(const Tensor&, const Tensor&, const Tensor&, const Grad&) override {}
  void reduce(Reduction, const Tensor&, const Grad&, const Tensor&) override {}
  void reduce_backward(Reduction, const Tensor&, const Tensor&, const Grad&) override {}
  void rnn_step(const RnnStep&, const Tensor&, const Tensor&, const Tensor&) override {}
  void rnn_step_backward(const RnnStep&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                         const Tensor&, const Tensor&) override {}
  void gradient_norm(const Tensor&, float, const Tensor&) override {}
  void adamw(const Optimizer&, float, float, float, const Tensor&, const Tensor&) override {}
  void sgd(const Optimizer&, const Momentum&, const Tensor&) override {}
};

}  // namespace attend
