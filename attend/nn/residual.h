// The residual stream around the sublayers of a Transformer, in both orders of norm and sum.
//   post-norm (Vaswani et al. 2017):  x <- norm(x + sublayer(x))
//   pre-norm (Xiong et al. 2020):     x <- x + sublayer(norm(x))
// Either way the sum and the norm that follows it are one fused op: in pre-norm order what a sublayer adds waits here
// until the next norm reads it.
#pragma once

#include <array>
#include <utility>

#include "attend/nn/layers.h"
#include "attend/ops/arithmetic.h"
#include "attend/tensor/tape.h"

namespace attend::nn {

struct ResidualOptions {
  bool pre_norm = false;
  float dropout = 0;  // of what sublayers add
};

class Residual {
 public:
  Residual(Tensor x, const ResidualOptions& options) : stream_(std::move(x)), options_(options) {}

  // What the sublayer that owns this norm reads.
  Tensor enter(const LayerNorm& norm) { return options_.pre_norm ? normalized(norm) : stream_; }
  // Takes what the sublayer computed.
  void leave(const LayerNorm& norm, Tensor branch) {
    if (options_.pre_norm)
      waiting_ = std::move(branch);
    else
      stream_ = norm.add(stream_, branch, options_.dropout).norm;
  }
  // body(Residual&): sublayers, at least one of which adds to the stream. In a pass that recomputes pieces of this
  // kind, only what enters them is kept; so body captures by value, but for what outlives the pass.
  template <class Body>
  void through(Recompute kind, Body body) {
    Pass* pass = stream_.pass();
    if (!pass || pass->recompute() != kind) return body(*this);
    auto [stream, waiting] = recomputed(*pass, [entered = *this, body] {
      Residual piece = entered;
      body(piece);
      return std::array<Tensor, 2>{piece.stream_, piece.waiting_};
    });
    stream_ = std::move(stream), waiting_ = std::move(waiting);
  }
  // The stream as it stands, for whoever looks at hidden states (dropout does not hit what still waits).
  Tensor value() const { return waiting_.defined() ? ops::add(stream_, waiting_) : stream_; }
  // The norm at the end of the stack.
  Tensor finish(const LayerNorm& norm) { return normalized(norm); }
  // Without one: post-norm stacks end in a norm already.
  Tensor finish() const { return stream_; }

 private:
  Tensor normalized(const LayerNorm& norm) {
    if (!waiting_.defined()) return norm(stream_);
    ops::Summed next = norm.add(stream_, waiting_, options_.dropout);
    waiting_ = Tensor();
    stream_ = std::move(next.sum);
    return std::move(next.norm);
  }

  Tensor stream_, waiting_;
  ResidualOptions options_;
};

}  // namespace attend::nn
