// Layers that turn a sequence into another of the same length, [B, T, C] -> [B, T, C]: what the experiments compare.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "attend/nn/parameters.h"
#include "attend/tensor/tensor.h"

namespace attend::experiments {

enum class LayerKind : std::uint8_t {
  mlp,                  // two linear layers over the whole sequence, T·C -> T·C -> T·C
  convolution,          // a position and its neighbours
  tanh,                 // recurrent: Elman 1990
  gru,                  // Cho et al. 2014
  lstm,                 // Hochreiter & Schmidhuber 1997
  attention,            // self-attention, Vaswani et al. 2017
  restricted_attention  // the same, within a window
};
std::string_view name_of(LayerKind kind);
constexpr bool is_recurrent(LayerKind kind) {
  return kind == LayerKind::tanh || kind == LayerKind::gru || kind == LayerKind::lstm;
}

struct LayerSizes {
  std::int64_t width = 16;
  std::int64_t length = 0;  // of an MLP, whose weights depend on it
  std::int64_t kernel = 3;  // of a convolution, and the window of restricted attention; odd
  bool causal = false;      // attention to earlier positions only
};

class SequenceLayer {
 public:
  virtual ~SequenceLayer() = default;
  virtual Tensor operator()(const Tensor& x) const = 0;
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;
};
// Throws Error for sizes out of range.
std::unique_ptr<SequenceLayer> make_layer(LayerKind kind, const LayerSizes& sizes);

// How a recurrent layer begins, otherwise than nn::RecurrentLayer says.
struct RecurrentStart {
  double forget_bias = 0;  // of the gate that keeps the state: forget of an LSTM, update of a GRU
  double gain = 1;         // factor of the recurrent weights
};
void set_start(LayerKind kind, nn::Parameters& parameters, const RecurrentStart& start);

}  // namespace attend::experiments
