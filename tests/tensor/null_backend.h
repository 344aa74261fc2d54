// The device without kernels, with every allocation counted.
#pragma once

#include "attend/tensor/null_backend.h"

namespace attend::test {

class NullBackend final : public attend::NullBackend {
 public:
  std::size_t allocations = 0, live = 0;
  int reductions = 0;
  bool leaves_attention_sums = true;

  void* allocate(std::size_t bytes) override {
    ++allocations, ++live;
    return attend::NullBackend::allocate(bytes);
  }
  void free(void* data, std::size_t bytes) override {
    --live;
    attend::NullBackend::free(data, bytes);
  }
  bool attention_backward(const Attention&, const Tensor&, const Tensor&, const Tensor&, const Grad&, const Grad&,
                          const Grad&, const Grad&, const AttentionSums&) override {
    return leaves_attention_sums;
  }
  void reduce(Reduction, const Tensor&, const Grad&, const Tensor&) override { ++reductions; }
};

}  // namespace attend::test
