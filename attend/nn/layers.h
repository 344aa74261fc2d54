// The small layers every model is made of: projection, norm, table of embeddings.
#pragma once

#include <optional>

#include "attend/nn/parameter.h"
#include "attend/ops/embedding.h"
#include "attend/ops/feed_forward.h"
#include "attend/ops/linear.h"
#include "attend/ops/linear_cross_entropy.h"
#include "attend/ops/norm.h"
#include "attend/ops/norm_linear.h"

namespace attend::nn {

struct LinearConfig {
  std::optional<Init> init = {};  // of the weight; xavier unless told
  bool input_major = false;       // the weight is [in, out], as in GPT-2's files
  bool bias = true;

  Role role() const { return input_major ? Role::input_major_weight : Role::weight; }
};

class LayerNorm {
 public:
  explicit LayerNorm(std::int64_t width, float eps = 1e-5f)
      : weight_{{width}, {Init::ones}}, bias_{{width}, {}}, eps_(eps) {}

  Tensor operator()(const Tensor& x) const { return ops::layer_norm(x, weight_, bias_, eps_); }
  // The sum x + dropout(branch), and its norm.
  ops::Summed add(const Tensor& x, const Tensor& branch, float dropout) const {
    return ops::add_norm(x, branch, weight_, bias_, {.eps = eps_, .dropout = dropout});
  }
  ops::NormWeights weights() const { return {weight_, bias_, eps_}; }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_), v("bias", bias_);
  }

 private:
  Parameter weight_, bias_;
  float eps_;
};

// x Wᵀ + b.
class Linear {
 public:
  Linear(std::int64_t in, std::int64_t out, const LinearConfig& config = {})
      : weight_{config.input_major ? Shape{in, out} : Shape{out, in}, config.init.value_or(Init::xavier(in, out)),
                config.role()},
        bias_{{out}, {}},
        config_(config) {}

  Tensor operator()(const Tensor& x, Activation activation = Activation::none) const {
    return ops::linear(x, weight_, bias_, {.activation = activation, .input_major = config_.input_major});
  }
  // Of f of another's: the feed-forward network of a layer.
  Tensor after(const Linear& expand, const Tensor& x, Activation activation) const {
    return ops::feed_forward(x, {expand.weight_, expand.bias_}, {weight_, bias_},
                             {.activation = activation, .input_major = config_.input_major});
  }
  // The two ends of a pre-norm sublayer: of the norm of x, and added to the stream that goes around it.
  Tensor of_norm(const LayerNorm& norm, const Tensor& x, Activation activation) const {
    return ops::norm_linear(x, norm.weights(), weight_, bias_,
                            {.activation = activation, .input_major = config_.input_major});
  }
  Tensor added_to(const Tensor& stream, const Tensor& x) const {
    return ops::linear(x, weight_, bias_, {.input_major = config_.input_major, .residual = stream});
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_);
    if (config_.bias) v("bias", bias_);
  }

 private:
  Parameter weight_, bias_;
  LinearConfig config_;
};

class Embedding {
 public:
  // N(0, 1/C): with the paper's scale of sqrt(C) the rows enter with unit variance.
  Embedding(std::int64_t count, std::int64_t width)
      : Embedding(count, width, {Init::normal, 1.0f / std::sqrt(static_cast<float>(width))}) {}
  // Small tables that are only looked up (positions) may stay as they are: Role::other.
  Embedding(std::int64_t count, std::int64_t width, const Init& init, Role role = Role::table)
      : weight_{{count, width}, init, role} {}

  Tensor operator()(const Tensor& ids, const ops::EmbeddingOptions& options = {}) const {
    return ops::embedding(ids, weight_, options);
  }
  const Tensor& table() const { return weight_; }
  // Scores of every row against x: the output layer that shares these weights (section 3.4).
  Tensor logits(const Tensor& x, const Tensor& bias = {}) const { return ops::linear(x, weight_, bias); }
  // And what those scores cost where labels (i32, like x without its last axis) are the right rows.
  ops::Loss loss(const Tensor& x, const Tensor& bias, const Tensor& labels,
                 const ops::CrossEntropyOptions& options = {}) const {
    return ops::linear_cross_entropy(x, weight_, bias, labels, options);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_);
  }

 private:
  Parameter weight_;
};

}  // namespace attend::nn
