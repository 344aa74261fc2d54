// The small layers that every model consists of: layer norm, linear projection, embedding table.
//   LayerNorm [.., C] -> [.., C]     Linear [.., in] -> [.., out]     Embedding i32 [..] -> [.., C]
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
  std::optional<Init> init = {};  // initial weight; Xavier by default
  bool input_major = false;       // the weight is [in, out], as in GPT-2's files, not [out, in]
  bool bias = true;

  Role role() const { return input_major ? Role::input_major_weight : Role::weight; }
};

class Residual;
struct SublayerInput;

// Layer normalisation over the last axis (Ba et al. 2016).
class LayerNorm {
 public:
  explicit LayerNorm(std::int64_t width, float eps = 1e-5f)
      : weight_{{width}, {Init::ones}}, bias_{{width}, {}}, eps_(eps) {}

  Tensor operator()(const Tensor& x) const { return ops::layer_norm(x, weight_, bias_, eps_); }
  // The norm of the stream, as the input of a sublayer (residual.h).
  inline SublayerInput operator()(Residual& stream) const;
  // The sum x + dropped(branch) and its norm, from one kernel.
  ops::Summed add(const Tensor& x, const Tensor& branch, float dropout, float drop_path = 0) const {
    return ops::add_norm(x, branch, weight_, bias_, {.eps = eps_, .dropout = dropout, .drop_path = drop_path});
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

// The input of a sublayer: a tensor, or a tensor whose norm the first projection of the sublayer still has to compute.
struct SublayerInput {
  SublayerInput(Tensor as_it_is) : x(std::move(as_it_is)) {}  // implicit, so that any tensor can be an input
  SublayerInput(Tensor stream, const LayerNorm& before) : x(std::move(stream)), norm(&before) {}
  Tensor value() const { return norm ? (*norm)(x) : x; }

  Tensor x;
  const LayerNorm* norm = nullptr;  // set if the norm of x is still to do; then the last projection also adds x
};

// The result of a sublayer: what is to be added to the stream, or the sum if its last projection has added it.
struct Branch {
  Branch(Tensor to_add) : value(std::move(to_add)) {}
  Branch(Tensor result, bool is_sum) : value(std::move(result)), summed(is_sum) {}

  Tensor value;
  bool summed = false;
  float drop_path = 0;  // rate at which items of the batch will do without it (stochastic depth)
};

// x Wᵀ + b.   x [.., in]   W [out, in]   b [out]   ->   [.., out]
class Linear {
 public:
  Linear(std::int64_t in, std::int64_t out, const LinearConfig& config = {})
      : weight_{config.input_major ? Shape{in, out} : Shape{out, in}, config.init.value_or(Init::xavier(in, out)),
                config.role()},
        bias_{{out}, {}},
        config_(config) {}

  // As the first projection of a sublayer, it also computes the norm of its input if that is still to do.
  Tensor operator()(const SublayerInput& in, Activation activation = Activation::none) const {
    if (!in.norm)
      return ops::linear(in.x, weight_, bias_, {.activation = activation, .input_major = config_.input_major});
    return ops::norm_linear(in.x, in.norm->weights(), weight_, bias_,
                            {.activation = activation, .input_major = config_.input_major});
  }
  // As the last projection of a sublayer, it adds the stream if the first one read it through a norm.
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

// A table [count, width] of token embeddings, which may also be the output layer.
class Embedding {
 public:
  // N(0, 1/C): with the paper's scale of sqrt(C) the rows enter with unit variance.
  Embedding(std::int64_t count, std::int64_t width)
      : Embedding(count, width, {Init::normal, 1.0f / std::sqrt(static_cast<float>(width))}) {}
  // Role::other keeps small tables that are only looked up (positions) as plain tensors.
  Embedding(std::int64_t count, std::int64_t width, const Init& init, Role role = Role::table)
      : weight_{{count, width}, init, role} {}

  Tensor operator()(const Tensor& ids, const ops::EmbeddingOptions& options = {}) const {
    return ops::embedding(ids, weight_, options);
  }
  const Tensor& table() const { return weight_; }
  // True if the table is packed in bf16 or int8; then all weights of the model are.
  bool rounded() const {
    const Tensor& value = weight_.value;
    return value.defined() && value.storage()->packed && value.storage()->packed->form() != DType::f32;
  }
  // Scores of every row against x, [.., C] -> [.., V]: the output layer that shares these weights (Vaswani et al. 2017,
  // section 3.4).
  Tensor logits(const Tensor& x, const Tensor& bias = {}) const { return ops::linear(x, weight_, bias); }
  // The cross entropy of those scores; labels are i32, shaped like x without its last axis.
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
