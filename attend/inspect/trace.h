// The layers of a model once more, op by op with the same kernels and weights, keeping what the fused path throws away.
// tests/serve compares it with what the models themselves compute.
#pragma once

#include <string>
#include <vector>

#include "attend/inspect/anatomy.h"
#include "attend/inspect/inspect.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"
#include "attend/view/trace.h"

namespace attend::tasks {

// What happens in one attention sublayer, for all tokens; [1, T, C] each.
struct AttentionParts {
  Tensor stream = {}, read = {}, q = {}, k = {}, v = {}, mixed = {}, projected = {}, after = {};
};
struct FeedForwardParts {
  Tensor read = {}, hidden = {}, out = {}, after = {};
};

class LayerWalk {
 public:
  // All must outlive it.
  LayerWalk(const Anatomy& anatomy, const nn::Parameters& parameters, Pass& pass)
      : anatomy_(anatomy), parameters_(parameters), pass_(pass) {}

  // memory: what cross-attention reads; undefined for self-attention.
  AttentionParts attend(const Anatomy::Attention& attention, const Tensor& stream, const Tensor& memory,
                        bool causal) const;
  FeedForwardParts feed_forward(const Anatomy::FeedForward& names, const Tensor& stream) const;

 private:
  Tensor value(const std::string& name, std::int64_t first_row = 0) const;
  Tensor normalized(const std::string& norm, const Tensor& x) const;
  Tensor leave(const std::string& norm, const Tensor& stream, const Tensor& branch) const;

  const Anatomy& anatomy_;
  const nn::Parameters& parameters_;
  Pass& pass_;
};

// A walk without its steps yet. Throws Error when the model has no layers, no such head or no such token.
view::Trace start_trace(const Anatomy& anatomy, const TraceRequest& request, std::vector<std::string> queries,
                        std::vector<std::string> keys);

// Writes one layer's steps down.
struct WalkedLayer {
  const AttentionParts& attention;
  const FeedForwardParts& feed_forward;
  bool causal = false;
};
void write_steps(view::Trace& trace, const Anatomy& anatomy, const AttentionPlace& place, const WalkedLayer& layer);

// The whole walk for a model with one stack of self-attention: GPT-2, BERT, a Transformer's encoder.
struct StackInput {
  Tensor embedded;  // [1, T, C]
  std::vector<std::string> tokens;
  bool causal = false;
};
view::Trace trace_stack(const Anatomy& anatomy, const nn::Parameters& parameters, Pass& pass, const StackInput& input,
                        const TraceRequest& request);

}  // namespace attend::tasks
