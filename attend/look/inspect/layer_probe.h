// One layer of a model's forward, part by part: the model shows them to a probe (nn/parts.h), so that the page has what
// the model itself computed.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attend/look/inspect/anatomy.h"
#include "attend/look/inspect/inspect.h"
#include "attend/nn/parameters.h"
#include "attend/nn/parts.h"
#include "attend/tensor/pass.h"
#include "attend/view/trace.h"

namespace attend::look {

// An attention and the feed-forward layer behind it, for all tokens: [1, T, C] each, hidden [1, T, F].
struct LayerParts {
  Tensor stream = {}, read = {}, q = {}, k = {}, v = {}, mixed = {}, projected = {}, after = {};
  Tensor hidden = {}, fed = {}, end = {};
};

class LayerProbe : public nn::PartsProbe {
 public:
  // Throws Error when the model has no such place.
  LayerProbe(const Anatomy& anatomy, const AttentionPlace& place);
  void attention(std::string_view, const Tensor&) override {}
  void part(std::string_view label, const nn::Part& part) override;
  LayerParts parts() const;

 private:
  std::string attention_, feed_forward_;         // labels
  std::size_t before_ = 0, end_ = 0, seen_ = 0;  // sublayers before the attention, up to the end of the layer, so far
  std::map<std::string, Tensor, std::less<>> parts_;
};

// The steps of one head at one token.
struct TracedTokens {
  std::vector<std::string> queries, keys;
  bool causal = false;
};
// forward(pass) runs the model, or the stack of it that is wanted. Throws Error when the model has no layers, no such
// head or no such token.
view::Trace trace_layer(const Anatomy& anatomy, const TraceRequest& request, const TracedTokens& tokens,
                        Backend& backend, const std::function<void(Pass& pass)>& forward);

}  // namespace attend::look
