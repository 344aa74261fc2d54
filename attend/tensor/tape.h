// record(): how an op hands its backward to the tape. The closure lives in the pass's own tape memory, so recording
// allocates nothing after the first step; what it captures is what training keeps.
#pragma once

#include <array>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/pass.h"

namespace attend {

// A node behind all others, whose results these are.
template <class Backward>
void add_node(Pass& pass, std::span<const Tensor> outputs, Backward&& backward) {
  using Closure = std::decay_t<Backward>;
  static_assert(alignof(Closure) <= alignof(std::max_align_t));
  TapeNode* node = pass.new_node(sizeof(Closure));
  new (node->closure) Closure(std::forward<Backward>(backward));
  node->run = [](void* closure, std::span<Tensor> dys, Grads& grads) { (*static_cast<Closure*>(closure))(dys, grads); };
  node->destroy = [](void* closure) { static_cast<Closure*>(closure)->~Closure(); };
  for (const Tensor& output : outputs)
    if (output.defined()) node->output[node->outputs++] = output;
}

// For ops with several results: backward(std::span<const Tensor> dys, Grads& grad), where a dy to which no gradient
// flowed is undefined.
template <class Backward>
void record_all(std::initializer_list<Tensor> outputs, std::initializer_list<Tensor> inputs, Backward&& backward) {
  Pass* pass = outputs.begin()->pass();
  if (!pass || !pass->recording()) return;
  bool differentiable = false;
  for (const Tensor& input : inputs) differentiable |= input.defined() && input.storage()->differentiable;
  if (!differentiable) return;
  for (const Tensor& output : outputs)
    if (output.defined()) output.storage()->differentiable = true;
  if (pass->taping()) add_node(*pass, std::span(outputs.begin(), outputs.size()), std::forward<Backward>(backward));
}

// For ops with one result: backward(const Tensor& dy, Grads& grad). Returns y.
template <class Backward>
Tensor record(const Tensor& y, std::initializer_list<Tensor> inputs, Backward&& backward) {
  record_all({y}, inputs, [backward = std::forward<Backward>(backward)](std::span<const Tensor> dys, Grads& grad) {
    backward(dys[0], grad);
  });
  return y;
}

// body() -> std::array<Tensor, N>, all made by it. What it makes in between is not kept: the backward pass runs it
// again for that, with the same dropout, and what it captures (by value) is all that is kept until then.
template <class Body>
auto recomputed(Pass& pass, Body body) {
  if (!pass.taping()) return body();
  const std::uint32_t stream = pass.next_stream();
  const auto once = [&] {
    const Pass::Pause pause(pass);
    return body();
  };
  const auto results = once();
  bool differentiable = false;
  for (const Tensor& result : results) differentiable |= result.defined() && result.storage()->differentiable;
  if (!differentiable) return results;
  add_node(pass, results, [&pass, stream, body = std::move(body)](std::span<Tensor> dys, Grads& grads) {
    Pass::Replay replay(pass, stream);
    std::size_t next = 0;
    for (const Tensor& result : body()) {
      if (!result.defined()) continue;
      // Handed over, not shared: what is added to a gradient that nobody else has is added in place.
      const Tensor dy = std::move(dys[next++]);
      if (dy.defined()) grads.give(result, dy);
    }
    replay.backward();
  });
  return results;
}

}  // namespace attend
