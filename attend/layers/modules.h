// Layers. A layer is a struct with parameters, a call, and a visit() list of their names; yours look the same:
//
//   struct Classifier {
//     nn::Linear hidden{784, 128}, out{128, 10};
//     nn::Tensor operator()(const nn::Tensor& x) const { return out(nn::relu(hidden(x))); }
//     void visit(auto&& v) { v("hidden", hidden), v("out", out); }
//   };
//   Classifier model;
//   nn::Parameters parameters(device, model);
//
// Names are those of torch.nn, so that files can be exchanged. A layer computes once nn::Parameters has given it
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/layers/ops.h"
#include "attend/layers/parameters.h"

namespace attend::layers {

// x Wᵀ + b.   [.., in] -> [.., out]
struct Linear {
  Linear(std::int64_t in, std::int64_t out, bool with_bias = true);
  Tensor operator()(const Tensor& x) const;
  template <class V>
  void visit(V&& v) {
    v("weight", weight);
    if (has_bias) v("bias", bias);
  }

  Parameter weight, bias;  // [out, in], [out]
  bool has_bias;
};

// Rows of a table.   i32 [..] -> [.., width]
struct Embedding {
  Embedding(std::int64_t count, std::int64_t width);
  Tensor operator()(const Tensor& ids) const;
  // Scores of every row, [.., width] -> [.., count]: an output layer that shares the table.
  Tensor logits(const Tensor& x) const;
  template <class V>
  void visit(V&& v) {
    v("weight", weight);
  }

  Parameter weight;  // [count, width]
};

// Layer normalisation over the last axis (Ba et al. 2016).   [.., width] -> [.., width]
struct LayerNorm {
  explicit LayerNorm(std::int64_t width, float epsilon = 1e-5f);
  Tensor operator()(const Tensor& x) const;
  // The norm of x + dropout(branch), in one kernel.
  Tensor add(const Tensor& x, const Tensor& branch, float dropout = 0) const;
  template <class V>
  void visit(V&& v) {
    v("weight", weight), v("bias", bias);
  }

  Parameter weight, bias;  // [width]
  float eps;
};

struct Conv2dOptions {
  std::int64_t kernel = 3;
  Window2d window = {};
  bool bias = true;
};

// [B, height, width, in] -> [B, height', width', out]
struct Conv2d {
  Conv2d(std::int64_t in, std::int64_t out, const Conv2dOptions& settings = {});
  Tensor operator()(const Tensor& x) const;
  template <class V>
  void visit(V&& v) {
    v("weight", weight);
    if (options.bias) v("bias", bias);
  }

  Parameter weight, bias;  // [out, kernel, kernel, in / groups], [out]; files have [out, in / groups, kernel, kernel]
  Conv2dOptions options;
};

// Dropout (Srivastava et al. 2014) for what a Tape records; otherwise x itself.
struct Dropout {
  explicit Dropout(float probability) : rate(probability) {}
  Tensor operator()(const Tensor& x) const { return dropout(x, rate); }
  template <class V>
  void visit(V&&) {}

  float rate;
};

// Who attends to whom.
struct Mask {
  bool causal = false;
  Tensor key_lengths = {};  // i32 [B]: keys from there on are padding
};

// Multi-head attention (Vaswani et al. 2017, section 3.2.2).
//   attention(x): x [B, T, width] to itself   attention(x, memory): x to memory [B, S, width]   ->   [B, T, width]
struct MultiHeadAttention {
  MultiHeadAttention(std::int64_t model_width, std::int64_t head_count, float dropout_rate = 0);
  Tensor operator()(const Tensor& x, const Mask& mask = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& mask = {}) const;
  // The weights of x to memory, [B, heads, T, S], for looking at.
  Tensor weights(const Tensor& x, const Tensor& memory, const Mask& mask = {}) const;
  template <class V>
  void visit(V&& v) {
    v("in_proj_weight", in_weight), v("in_proj_bias", in_bias), v("out_proj", out);
  }

  std::int64_t width, heads;
  float dropout;
  Parameter in_weight, in_bias;  // [3·width, width], [3·width]: queries, keys, values
  Linear out;
};

// f(x W₁ᵀ + b₁) W₂ᵀ + b₂.   [.., width] -> [.., hidden] -> [.., width]
struct FeedForward {
  FeedForward(std::int64_t width, std::int64_t hidden, Activation function = Activation::relu);
  Tensor operator()(const Tensor& x) const;
  template <class V>
  void visit(V&& v) {
    v("linear1", linear1), v("linear2", linear2);
  }

  Linear linear1, linear2;
  Activation kind;
};

struct TransformerLayerOptions {
  std::int64_t width = 512, heads = 8;
  std::int64_t hidden = 0;  // of the feed-forward network; 0 means 4·width
  float dropout = 0.1f;
  Activation activation = Activation::relu;
  bool pre_norm = false;  // x + f(norm(x)) instead of norm(x + f(x))
};

// The encoder layer of Vaswani et al. 2017, section 3.1: self-attention and a feed-forward network. With a causal mask
// it is the layer of a GPT.   [B, T, width] -> [B, T, width]
struct TransformerEncoderLayer {
  explicit TransformerEncoderLayer(const TransformerLayerOptions& settings);
  Tensor operator()(const Tensor& x, const Mask& mask = {}) const;
  template <class V>
  void visit(V&& v) {
    v("self_attn", self_attn), v("", feed_forward), v("norm1", norm1), v("norm2", norm2);
  }

  TransformerLayerOptions options;
  MultiHeadAttention self_attn;
  FeedForward feed_forward;
  LayerNorm norm1, norm2;
};

// The decoder layer: masked self-attention, attention to a memory [B, S, width], a feed-forward network.
struct TransformerDecoderLayer {
  explicit TransformerDecoderLayer(const TransformerLayerOptions& settings);
  Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& mask = {.causal = true},
                    const Mask& memory_mask = {}) const;
  template <class V>
  void visit(V&& v) {
    v("self_attn", self_attn), v("multihead_attn", multihead_attn), v("", feed_forward);
    v("norm1", norm1), v("norm2", norm2), v("norm3", norm3);
  }

  TransformerLayerOptions options;
  MultiHeadAttention self_attn, multihead_attn;
  FeedForward feed_forward;
  LayerNorm norm1, norm2, norm3;
};

// A stack of recurrent layers in one direction.   [B, T, in] -> states [B, T, width]
struct Recurrent {
  Recurrent(RnnKind recurrent_kind, std::int64_t in, std::int64_t width, std::int64_t layers = 1);
  // start and the result's last are states of the last layer only; lower layers start at zero.
  RnnResult operator()(const Tensor& x, const RnnState& start = {}, const Tensor& lengths = {}) const;
  template <class V>
  void visit(V&& v) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::string suffix = "_l" + std::to_string(i);
      v("weight_ih" + suffix, layers[i].input_weight), v("weight_hh" + suffix, layers[i].hidden_weight);
      v("bias_ih" + suffix, layers[i].input_bias), v("bias_hh" + suffix, layers[i].hidden_bias);
    }
  }

  struct Layer {
    Parameter input_weight, hidden_weight, input_bias, hidden_bias;
  };
  RnnKind kind;
  std::vector<Layer> layers;
};

// Elman 1990, Hochreiter & Schmidhuber 1997, Cho et al. 2014.
struct RNN : Recurrent {
  RNN(std::int64_t in, std::int64_t width, std::int64_t layers = 1) : Recurrent(RnnKind::tanh, in, width, layers) {}
};
struct LSTM : Recurrent {
  LSTM(std::int64_t in, std::int64_t width, std::int64_t layers = 1) : Recurrent(RnnKind::lstm, in, width, layers) {}
};
struct GRU : Recurrent {
  GRU(std::int64_t in, std::int64_t width, std::int64_t layers = 1) : Recurrent(RnnKind::gru, in, width, layers) {}
};

}  // namespace attend::layers
