// Recurrent layers: tanh (Elman 1990), GRU (Cho et al. 2014) and LSTM (Hochreiter & Schmidhuber 1997), in one direction
// and in both. Parameters carry the names of torch.nn.RNN, GRU and LSTM: weight_ih_l0, weight_hh_l0_reverse and so on.
//   x [B, T, in] -> gates [B, T, G·C] -> states [B, T, C];   G is 1 for tanh, 3 for a GRU and 4 for an LSTM
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/nn/parameter.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/recurrent.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

// Shows the attention weights [B, T, S] of a recurrent decoder to the probe, if any, as [rows, 1, steps, S].
inline void show_attention_weights(std::string_view label, const Tensor& weights, std::int64_t rows) {
  Probe* probe = weights.pass() ? weights.pass()->probe() : nullptr;
  if (!probe) return;
  const std::int64_t steps = weights.dim(0) * weights.dim(1) / rows;
  probe->attention(label, ops::cast(weights, DType::f32).reshape({rows, 1, steps, weights.dim(2)}));
}

// One layer in one direction.
class RecurrentLayer {
 public:
  RecurrentLayer(RnnKind kind, std::int64_t in, std::int64_t width)
      : kind_(kind),
        input_weight_{{gates_of(kind) * width, in}, Init::xavier(in, width), Role::weight},
        hidden_weight_{
            {gates_of(kind) * width, width}, {Init::uniform, 1 / std::sqrt(static_cast<float>(width))}, Role::weight},
        input_bias_{{gates_of(kind) * width}, {}},
        hidden_bias_{{gates_of(kind) * width}, {}} {}

  // The inputs' share of the gates, [.., in] -> [.., G·C], for all positions at once. run() then does the steps.
  Tensor gates(const Tensor& x) const { return ops::linear(x, input_weight_, input_bias_); }
  ops::RecurrentResult run(const Tensor& gates, const ops::RecurrentOptions& options) const {
    return ops::recurrent(kind_, gates, hidden_weight_, hidden_bias_, options);
  }
  template <class Visitor>
  void visit(Visitor&& v, const std::string& suffix) {
    v("weight_ih" + suffix, input_weight_), v("weight_hh" + suffix, hidden_weight_);
    v("bias_ih" + suffix, input_bias_), v("bias_hh" + suffix, hidden_bias_);
  }

 private:
  RnnKind kind_;
  Parameter input_weight_, hidden_weight_, input_bias_, hidden_bias_;
};

struct BidirectionalConfig {
  RnnKind kind = RnnKind::gru;
  std::int64_t in = 0, width = 0, layers = 1;
  float dropout = 0;  // rate between layers
};

// A stack of layers that read the sequence from both ends (Schuster & Paliwal 1997). Every state depends on what comes
// before its position and on what comes after.
class BidirectionalRnn {
 public:
  struct Result {
    Tensor states;  // [B, T, 2·C]: forward states, then backward states
    Tensor last;    // [B, 2·C]: final states of both directions, last layer
  };

  explicit BidirectionalRnn(const BidirectionalConfig& config) : dropout_(config.dropout) {
    for (std::int64_t i = 0; i < config.layers; ++i) {
      const RecurrentLayer layer(config.kind, i == 0 ? config.in : 2 * config.width, config.width);
      layers_.push_back({layer, layer});
    }
  }

  //   x [B, T, in]   lengths i32 [B], undefined if there is no padding
  Result operator()(const Tensor& x, const Tensor& lengths) const {
    Result result{x, {}};
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Tensor input = i == 0 ? x : ops::dropout(result.states, dropout_);  // [B, T, in or 2·C]
      const auto& [forward, backward] = layers_[i];
      const auto ahead = forward.run(forward.gates(input), {.lengths = lengths});
      const auto back = backward.run(backward.gates(input), {.lengths = lengths, .reverse = true});
      // States [B, T, 2·C], final states [B, 2·C].
      result = {ops::concat({ahead.states, back.states}, -1), ops::concat({ahead.hidden, back.hidden}, -1)};
    }
    return result;
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const std::string suffix = "_l" + std::to_string(i);
      layers_[i].forward.visit(v, suffix), layers_[i].backward.visit(v, suffix + "_reverse");
    }
  }

 private:
  struct Layer {
    RecurrentLayer forward, backward;
  };
  std::vector<Layer> layers_;
  float dropout_;
};

}  // namespace attend::nn
