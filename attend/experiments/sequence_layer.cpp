#include "attend/experiments/sequence_layer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attend/base/error.h"
#include "attend/nn/attention.h"
#include "attend/nn/layers.h"
#include "attend/nn/recurrent.h"
#include "attend/ops/convolution.h"

namespace attend::experiments {

namespace {

struct MlpLayer {
  nn::Linear first, second;
  explicit MlpLayer(const LayerSizes& sizes)
      : first(sizes.length * sizes.width, sizes.length * sizes.width),
        second(sizes.length * sizes.width, sizes.length * sizes.width) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor flat = x.reshape({x.dim(0), x.dim(1) * x.dim(2)});  // [B, T·C]
    return second(ops::tanh(first(flat))).reshape(x.shape());        // [B, T, C]
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("first", first), v("second", second);
  }
};

// A row of an image is a sequence: [B, 1, T, C].
struct ConvolutionLayer {
  nn::Parameter weight, bias;
  std::int64_t kernel;
  explicit ConvolutionLayer(const LayerSizes& sizes)
      : weight{{sizes.width, 1, sizes.kernel, sizes.width},
               nn::Init::xavier(sizes.kernel * sizes.width, sizes.width),
               nn::Role::weight},
        bias{{sizes.width}, {}},
        kernel(sizes.kernel) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor row = x.reshape({x.dim(0), 1, x.dim(1), x.dim(2)});
    return ops::conv2d(row, weight, bias, {.padding = {0, kernel / 2}}).reshape(x.shape());
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight), v("bias", bias);
  }
};

struct RnnLayer {
  nn::RecurrentLayer layer;
  RnnLayer(RnnKind kind, const LayerSizes& sizes) : layer(kind, sizes.width, sizes.width) {}
  Tensor operator()(const Tensor& x) const { return layer.run(layer.gates(x), {}).states; }
  template <class Visitor>
  void visit(Visitor&& v) {
    layer.visit(v, "_l0");
  }
};

constexpr std::int64_t kWidestHead = 128;
std::int64_t heads_of(std::int64_t width) { return width <= kWidestHead ? 1 : width / kWidestHead; }

struct AttentionLayer {
  nn::SelfAttention attention;
  bool causal;
  AttentionLayer(const LayerSizes& sizes, const AttentionWindow& window)
      : attention({.width = sizes.width, .heads = heads_of(sizes.width), .window = window}), causal(sizes.causal) {}
  Tensor operator()(const Tensor& x) const { return attention(x, {.causal = causal}).value; }
  template <class Visitor>
  void visit(Visitor&& v) {
    attention.visit(v);
  }
};

template <class Module>
class LayerOf : public SequenceLayer {
 public:
  explicit LayerOf(Module module) : module_(std::move(module)) {}
  Tensor operator()(const Tensor& x) const override { return module_(x); }
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(module_); }

 private:
  Module module_;
};
template <class Module>
std::unique_ptr<SequenceLayer> layer_of(Module module) {
  return std::make_unique<LayerOf<Module>>(std::move(module));
}

}  // namespace

std::string_view name_of(LayerKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {
      "MLP", "convolution", "tanh RNN", "GRU", "LSTM", "self-attention", "restricted attention"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::unique_ptr<SequenceLayer> make_layer(LayerKind kind, const LayerSizes& sizes) {
  check(sizes.width >= 8 && sizes.width <= 4096 && sizes.width % 8 == 0,
        "experiment: the networks have 8 to 4096 dimensions, a multiple of 8, not {}", sizes.width);
  check(sizes.width <= kWidestHead || sizes.width % kWidestHead == 0,
        "experiment: more than {} dimensions must be a multiple of it, not {}", kWidestHead, sizes.width);
  check(sizes.kernel >= 1 && sizes.kernel % 2 == 1, "experiment: the kernel must be odd, not {}", sizes.kernel);
  check(kind != LayerKind::mlp || (sizes.length >= 1 && sizes.length * sizes.width <= 8192),
        "experiment: an MLP over {} positions of width {} has more than 8192 inputs", sizes.length, sizes.width);
  switch (kind) {
    case LayerKind::mlp:
      return layer_of(MlpLayer(sizes));
    case LayerKind::convolution:
      return layer_of(ConvolutionLayer(sizes));
    case LayerKind::tanh:
      return layer_of(RnnLayer(RnnKind::tanh, sizes));
    case LayerKind::gru:
      return layer_of(RnnLayer(RnnKind::gru, sizes));
    case LayerKind::lstm:
      return layer_of(RnnLayer(RnnKind::lstm, sizes));
    case LayerKind::attention:
      return layer_of(AttentionLayer(sizes, {}));
    case LayerKind::restricted_attention:
      return layer_of(AttentionLayer(sizes, {.before = sizes.kernel / 2, .after = sizes.kernel / 2}));
  }
  fail("experiment: unknown layer");
}

void set_start(LayerKind kind, nn::Parameters& parameters, const RecurrentStart& start) {
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    std::vector<float> values = parameters.read(entry);
    if (entry.name.starts_with("weight_hh")) {
      for (float& value : values) value *= static_cast<float>(start.gain);
      parameters.write(entry, values);
    }
    // The second gate of both: i f g o and r z n.
    if (entry.name.starts_with("bias_hh") && (kind == LayerKind::lstm || kind == LayerKind::gru)) {
      const std::size_t width = values.size() / (kind == LayerKind::lstm ? 4 : 3);
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(width), width, static_cast<float>(start.forget_bias));
      parameters.write(entry, values);
    }
  }
}

}  // namespace attend::experiments
