// A device that computes nothing and counts the multiply-adds that it is asked for: what any pass of any model costs,
// without weights, memory or a second description of the model.
//   products        M·N·K           convolutions   outputs · kernel · channels of a group
//   attention       2·D for each head and each pair of query and key that the mask lets see each other
// Sums, norms, activations and look-ups count nothing, as in most published figures. Memory is never touched:
// allocate() hands out addresses that nobody reads.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/tensor/null_backend.h"

namespace attend {

class CountingBackend final : public NullBackend {
 public:
  struct Work {
    double multiply_adds = 0;
    const std::byte *first = nullptr, *second = nullptr;  // the factors; of attention none
  };
  const std::vector<Work>& work() const { return work_; }
  double multiply_adds() const;
  void forget() { work_.clear(); }

  std::string name() const override { return "counting"; }
  bool on_host() const override { return false; }
  void* allocate(std::size_t bytes) override;
  void free(void*, std::size_t) override {}
  void to_device(void*, const void*, std::size_t) override {}
  void to_host(void* to, const void*, std::size_t bytes) override { std::memset(to, 0, bytes); }
  void to_device_async(void*, const void*, std::size_t) override {}

  void matmul(const MatMul& product, const Grad& c) override;
  void convolution(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   Activation activation, const Grad& y) override;
  void convolution_input(const Convolution& args, const Tensor& dy, const Tensor& weight, const Grad& dx) override;
  void convolution_weight(const Convolution& args, const Tensor& x, const Tensor& dy, const Grad& dweight) override;
  void attention(const Attention& args, const Tensor& y, const Tensor& lse) override;
  bool attention_backward(const Attention& args, const Tensor& y, const Tensor& lse, const Tensor& dy, const Grad& dq,
                          const Grad& dk, const Grad& dv, const Grad& dbias, const AttentionSums& sums) override;
  void additive_scores(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& scores) override;
  void additive_scores_backward(const Tensor& dscores, const Tensor& q, const Tensor& k, const Tensor& v,
                                const Grad& dq, const Grad& dk, const Grad& dv) override;

 private:
  void add(double multiply_adds, const Tensor* first = nullptr, const Tensor* second = nullptr);

  std::vector<Work> work_;
  std::size_t next_ = 0;
};

}  // namespace attend
