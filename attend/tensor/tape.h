// record(): how an op hands its backward to the tape. The closure lives in the pass's own tape memory, so recording
// allocates nothing after the first step; what it captures is what training keeps.
#pragma once

#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/pass.h"

namespace attend {

// For ops with several results: backward(std::span<const Tensor> dys, Grads& grad), where a dy to which no gradient
// flowed is undefined.
template <class Backward>
void record_all(std::initializer_list<Tensor> outputs, std::initializer_list<Tensor> inputs, Backward&& backward) {
  using Closure = std::decay_t<Backward>;
  static_assert(alignof(Closure) <= alignof(std::max_align_t));
  Pass* pass = outputs.begin()->pass();
  if (!pass || !pass->recording()) return;
  bool differentiable = false;
  for (const Tensor& input : inputs) differentiable |= Grads::wants(input);
  if (!differentiable) return;

  TapeNode* node = pass->new_node(sizeof(Closure));
  new (node->closure) Closure(std::forward<Backward>(backward));
  node->run = [](void* closure, std::span<const Tensor> dys, Grads& grads) {
    (*static_cast<Closure*>(closure))(dys, grads);
  };
  node->destroy = [](void* closure) { static_cast<Closure*>(closure)->~Closure(); };
  for (const Tensor& output : outputs) {
    if (!output.defined()) continue;
    output.storage()->differentiable = true;
    node->output[node->outputs++] = {Slot(output.storage()), output.window()};
  }
}

// For ops with one result: backward(const Tensor& dy, Grads& grad). Returns y.
template <class Backward>
Tensor record(const Tensor& y, std::initializer_list<Tensor> inputs, Backward&& backward) {
  record_all({y}, inputs, [backward = std::forward<Backward>(backward)](std::span<const Tensor> dys, Grads& grad) {
    backward(dys[0], grad);
  });
  return y;
}

}  // namespace attend
