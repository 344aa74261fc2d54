// The small layers every model is made of: norm, projection, table of embeddings.
#pragma once

#include <optional>
#include <utility>

#include "attend/nn/parameter.h"
#include "attend/ops/embedding.h"
#include "attend/ops/feed_forward.h"
#include "attend/ops/linear.h"
#include "attend/ops/linear_cross_entropy.h"
#include "attend/ops/norm.h"
#include "attend/ops/norm_linear.h"
#include "attend/tensor/packed_weight.h"

namespace attend::nn {

struct LinearConfig {
  std::optional<Init> init = {};  // of the weight; xavier unless told
  bool input_major = false;       // the weight is [in, out], as in GPT-2's files
  bool bias = true;

  Role role() const { return input_major ? Role::input_major_weight : Role::weight; }
};

class Residual;
struct SublayerInput;

class LayerNorm {
 public:
  explicit LayerNorm(std::int64_t width, float eps = 1e-5f)
      : weight_{{width}, {Init::ones}}, bias_{{width}, {}}, eps_(eps) {}

  Tensor operator()(const Tensor& x) const { return ops::layer_norm(x, weight_, bias_, eps_); }
  // Of the stream, for the sublayer that reads it (residual.h).
  inline SublayerInput operator()(Residual& stream) const;
  // The sum x + dropout(branch), and its norm.
  ops::Summed add(const Tensor& x, const Tensor& branch, float dropout) const {
    return ops::add_norm(x, branch, weight_, bias_, {.eps = eps_, .dropout = dropout});
  }
  ops::NormWeights weights() const { return {weight_, bias_, eps_}; }
  float eps() const { return eps_; }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", weight_), v("bias", bias_);
  }

 private:
  Parameter weight_, bias_;
  float eps_;
};

// What a sublayer reads: a tensor, or the norm of one, which the first projection of the sublayer may compute as it
// goes.
struct SublayerInput {
  SublayerInput(Tensor as_it_is) : x(std::move(as_it_is)) {}  // implicit: any tensor can be read
  SublayerInput(Tensor stream, const LayerNorm& before) : x(std::move(stream)), norm(&before) {}
  Tensor value() const { return norm ? (*norm)(x) : x; }

  Tensor x;
  const LayerNorm* norm = nullptr;  // of x, still to be done; the sum with x is then the last projection's
};

// What a sublayer gives: what is to be added to the stream, or the sum, where its last projection has added it.
struct Branch {
  Branch(Tensor to_add) : value(std::move(to_add)) {}
  Branch(Tensor result, bool is_sum) : value(std::move(result)), summed(is_sum) {}

  Tensor value;
  bool summed = false;
};

// x Wᵀ + b.
class Linear {
 public:
  Linear(std::int64_t in, std::int64_t out, const LinearConfig& config = {})
      : weight_{config.input_major ? Shape{in, out} : Shape{out, in}, config.init.value_or(Init::xavier(in, out)),
                config.role()},
        bias_{{out}, {}},
        config_(config) {}

  // The first projection of a sublayer does the norm of what it reads, if that is still to be done..
  Tensor operator()(const SublayerInput& in, Activation activation = Activation::none) const {
    if (!in.norm)
      return ops::linear(in.x, weight_, bias_, {.activation = activation, .input_major = config_.input_major});
    return ops::norm_linear(in.x, in.norm->weights(), weight_, bias_,
                            {.activation = activation, .input_major = config_.input_major});
  }
  // .. and the last one the sum with the stream that goes around it.
  Branch back(const SublayerInput& in, const Tensor& x) const {
    const Tensor stream = in.norm ? in.x : Tensor();
    return {ops::linear(x, weight_, bias_, {.input_major = config_.input_major, .residual = stream}),
            in.norm != nullptr};
  }
  ops::Projection weights() const { return {weight_, bias_}; }
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
  // Whether it is kept in bf16 or int8, as then all weights of the model are.
  bool rounded() const {
    const Tensor& value = weight_.value;
    return value.defined() && value.storage()->packed && value.storage()->packed->form() != DType::f32;
  }
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
