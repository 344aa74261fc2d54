// The residual stream x around the sublayers of a Transformer, [B, T, C] or packed [rows, C].
//   pre-norm (Xiong et al. 2020):     x.add(sublayer(norm(x)))     x <- x + sublayer(norm(x))
//   post-norm (Vaswani et al. 2017):  x.add(sublayer(x), norm)     x <- norm(x + sublayer(x))
// No sum is a kernel of its own. With many rows, the norm after a sum computes it: in pre-norm order a sublayer's
// result waits here until the next norm reads it. Decoding one position per text is limited by latency. There the
// neighbouring projections do the work: the last one of a sublayer adds to the stream, and the first one of the next
// computes the norm.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "attend/base/error.h"
#include "attend/nn/layers.h"
#include "attend/nn/parts.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/drop_path.h"
#include "attend/tensor/tape.h"

namespace attend::nn {

enum class Sums : std::uint8_t { by_norms, by_projections };

struct ResidualOptions {
  float dropout = 0;  // rate for what sublayers add; unused with by_projections
  Sums sums = Sums::by_norms;
  bool pre_norm = false;  // the order that sublayer() uses
};

class Residual {
 public:
  Residual(Tensor x, const ResidualOptions& options) : stream_(std::move(x)), options_(options) { show_stream(); }

  // The input of a pre-norm sublayer: norm(x). With by_projections the sublayer's first projection computes the norm.
  SublayerInput normed(const LayerNorm& norm) {
    if (options_.sums == Sums::by_projections && !waiting_.defined()) return {stream_, norm};
    return normalized(norm);
  }
  operator SublayerInput() const { return value(); }
  // x + branch
  void add(Branch branch) {
    check(!waiting_.defined(), "residual: two sublayers in a row, and no norm has read the first");
    (branch.summed ? stream_ : waiting_) = std::move(branch.value);
    drop_path_ = branch.drop_path;
    if (options_.dropout > 0 && drop_path_ > 0) {  // the norm drops in one way only
      waiting_ = ops::drop_path(waiting_, drop_path_);
      drop_path_ = 0;
    }
    show_stream();
  }
  // norm(x + branch)
  void add(const Branch& branch, const LayerNorm& norm) {
    check(!branch.summed && !waiting_.defined(), "residual: a post-norm sublayer reads the stream as it is");
    stream_ = norm.add(stream_, branch.value, options_.dropout, branch.drop_path).norm;
    show_stream();
  }
  // Runs sublayer(SublayerInput) -> Branch in the order that the options say.
  template <class Sublayer>
  void sublayer(const LayerNorm& norm, const Sublayer& sublayer) {
    if (options_.pre_norm)
      add(sublayer(norm(*this)));
    else
      add(sublayer(SublayerInput(*this)), norm);
  }
  // Runs body(Residual&), a row of sublayers. If the pass recomputes pieces of this kind, only the body's input is
  // kept. So body must capture by value, except for what outlives the pass.
  template <class Body>
  void through(Recompute kind, Body body) {
    Pass* pass = stream_.pass();
    if (!pass || pass->recompute() != kind) return body(*this);
    const auto drop_path = std::make_shared<float>(0.0f);
    auto [stream, waiting] = recomputed(*pass, [entered = *this, body, drop_path] {
      Residual piece = entered;
      body(piece);
      *drop_path = piece.drop_path_;
      return std::array<Tensor, 2>{piece.stream_, piece.waiting_};
    });
    stream_ = std::move(stream), waiting_ = std::move(waiting), drop_path_ = *drop_path;
  }
  // The stream as it stands. Dropout is not applied to a waiting branch, but stochastic depth is.
  Tensor value() const {
    if (!waiting_.defined()) return stream_;
    return ops::add(stream_, drop_path_ > 0 ? ops::drop_path(waiting_, drop_path_) : waiting_);
  }

 private:
  // Probes see the stream after every change; without one nothing is computed.
  void show_stream() const {
    if (parts_probe(stream_)) show("stream", {{"x", value()}});
  }
  // One kernel adds the waiting branch and normalises the sum.
  Tensor normalized(const LayerNorm& norm) {
    if (!waiting_.defined()) return norm(stream_);
    ops::Summed next = norm.add(stream_, waiting_, options_.dropout, drop_path_);
    waiting_ = Tensor(), drop_path_ = 0;
    stream_ = std::move(next.sum);
    return std::move(next.norm);
  }

  // waiting_ is the branch that no norm has added yet; undefined if there is none.
  Tensor stream_, waiting_;
  float drop_path_ = 0;  // of the waiting branch
  ResidualOptions options_;
};

inline SublayerInput LayerNorm::operator()(Residual& stream) const { return stream.normed(*this); }

}  // namespace attend::nn
