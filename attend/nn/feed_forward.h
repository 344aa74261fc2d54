// The position-wise feed-forward network (Vaswani et al. 2017, section 3.3): a projection, an activation, a projection.
#pragma once

#include <cstdint>
#include <string_view>

#include "attend/nn/layers.h"
#include "attend/ops/feed_forward.h"

namespace attend::nn {

struct FeedForwardConfig {
  std::int64_t width, hidden;
  Activation activation = Activation::relu;
  LinearConfig expand = {}, contract = {};
  std::string_view expand_name = "linear1", contract_name = "linear2";  // in files
};

class FeedForward {
 public:
  explicit FeedForward(const FeedForwardConfig& config)
      : config_(config),
        expand_(config.width, config.hidden, config.expand),
        contract_(config.hidden, config.width, config.contract) {}
  const FeedForwardConfig& config() const { return config_; }

  Branch operator()(const SublayerInput& x) const {
    if (x.norm) return contract_.back(x, expand_(x, config_.activation));
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
