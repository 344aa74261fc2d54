// A Transformer encoder that sorts rows of tokens into two classes, and a step of its training, as a user of
// attend/nn.h writes them. bench/layers.py counts these lines beside those of the same in Python and in torch.
#pragma once

#include <vector>

#include "attend/nn.h"

namespace nn = attend::nn;

struct Sizes {
  std::int64_t words, length, width, heads;
  std::size_t depth;
};

struct Classifier : Sizes {
  nn::Embedding tokens{words, width}, positions{length, width};
  std::vector<nn::TransformerEncoderLayer> layers{
      depth, nn::TransformerEncoderLayer({.width = width, .heads = heads, .dropout = 0, .pre_norm = true})};
  nn::LayerNorm norm{width};
  nn::Linear out{width, 2};

  nn::Tensor operator()(const nn::Tensor& ids) const {      // [B, T]
    nn::Tensor x = tokens(ids) + positions.weight.value();  // [B, T, C]
    for (const auto& layer : layers) x = layer(x);
    return out(nn::mean(norm(x), 1));  // [B, 2]
  }
  void visit(auto&& v) {
    v("tokens", tokens), v("positions", positions), v("layers", layers), v("norm", norm), v("out", out);
  }
};

inline nn::Tensor train(Classifier& model, nn::Optimizer& optimizer, const nn::Tensor& ids, const nn::Tensor& labels) {
  const nn::Tensor loss = nn::cross_entropy(model(ids), labels);
  loss.backward();
  optimizer.step();
  return loss;
}
