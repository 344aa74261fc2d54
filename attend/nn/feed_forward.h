// The position-wise feed-forward network (Vaswani et al. 2017, section 3.3): a projection, an activation, a projection.
//   x [.., width] -> [.., hidden] -> [.., out]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "attend/nn/layers.h"
#include "attend/nn/parts.h"
#include "attend/ops/feed_forward.h"

namespace attend::nn {

struct FeedForwardConfig {
  std::int64_t width, hidden;
  std::int64_t out = 0;  // width of the result; 0 means the input's width
  Activation activation = Activation::relu;
  std::string label = {};  // the label under which a probe sees its parts
  LinearConfig expand = {}, contract = {};
  std::string_view expand_name = "linear1", contract_name = "linear2";  // names of both projections in files
};

class FeedForward {
 public:
  explicit FeedForward(FeedForwardConfig config)
      : config_(std::move(config)),
        expand_(config_.width, config_.hidden, config_.expand),
        contract_(config_.hidden, config_.out > 0 ? config_.out : config_.width, config_.contract) {}
  const FeedForwardConfig& config() const { return config_; }
  ops::Projection expand() const { return expand_.weights(); }
  ops::Projection contract() const { return contract_.weights(); }

  Branch operator()(const SublayerInput& x) const {
    // Decoding (the norm is still to do) and probes need the two projections apart; training uses the fused op.
    if (x.norm || parts_probe(x.x)) {
      const Tensor hidden = expand_(x, config_.activation);  // [.., hidden]
      Branch branch = contract_.back(x, hidden);
      show(config_.label, {{"hidden", hidden}, {"out", branch.value}});
      return branch;
    }
    return ops::feed_forward(x.x, expand_.weights(), contract_.weights(),
                             {.activation = config_.activation, .input_major = config_.contract.input_major});
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v(config_.expand_name, expand_), v(config_.contract_name, contract_);
  }

 private:
  FeedForwardConfig config_;
  Linear expand_, contract_;
};

}  // namespace attend::nn
