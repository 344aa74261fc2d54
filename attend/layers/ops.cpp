// Each function checks what the engine's op does not, and calls it.
#include "attend/layers/ops.h"

#include <utility>

#include "attend/layers/inner.h"
#include "attend/ops/activation.h"
#include "attend/ops/additive_attention.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/embedding.h"
#include "attend/ops/feed_forward.h"
#include "attend/ops/linear.h"
#include "attend/ops/linear_cross_entropy.h"
#include "attend/ops/norm.h"
#include "attend/ops/recurrent.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/backend.h"

namespace attend::layers {

namespace {

// [.., M, K] as [batch, M, K].
Inner matrices(const Inner& x) { return x.reshape(Shape{x.rows() / x.dim(-2), x.dim(-2), x.dim(-1)}); }

// Lengths of sequences: at most `most`, and none negative.
void check_lengths(const char* op, const Tensor& lengths, std::int64_t most) {
  if (lengths.defined()) check_range(op, lengths, most + 1);
}

// Receives the weights of one attention through AttentionOptions::weights.
class WeightsProbe : public Probe {
 public:
  void attention(std::string_view, const Inner&) override {}
};

void check_matrix_product(const Tensor& a, const Tensor& b) {
  bool fits = a.rank() >= 2 && a.rank() == b.rank() && a.dim(-1) == b.dim(-2);
  for (int i = 0; fits && i + 2 < a.rank(); ++i) fits = a.dim(i) == b.dim(i);
  check(fits && a.size() > 0, "matmul: a is {} and b is {}; they must be [.., M, K] and [.., K, N]", a.shape(),
        b.shape());
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const Inputs in("add", {&a, &b});
  const bool swapped = b.rank() > a.rank();
  return in.result(ops::add(in.dense(swapped), in.dense(!swapped)));
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  const Inputs in("multiply", {&a, &b});
  const bool swapped = b.rank() > a.rank();
  return in.result(ops::multiply(in.dense(swapped), in.dense(!swapped)));
}

Tensor scale(const Tensor& x, float factor) {
  const Inputs in("scale", {&x});
  return in.result(ops::scale(in.dense(0), factor));
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  const Inputs in("matmul", {&a, &b});
  check_matrix_product(a, b);
  const Inner x = in.dense(0), y = in.dense(1);
  if (a.rank() == 2) return in.result(ops::matmul(x, y));
  Shape shape = a.shape();
  shape.set(-1, b.dim(-1));
  return in.result(ops::matmul(matrices(x), matrices(y)).reshape(shape));
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Inputs in("linear", {&x, &weight}, {&bias});
  return in.result(ops::linear(in.dense(0), in.dense(1), in.dense(2)));
}

Tensor activation(const Tensor& x, Activation kind) {
  const Inputs in("activation", {&x});
  return in.result(ops::activation(in.dense(0), kind));
}

Tensor dropout(const Tensor& x, float rate) {
  const Inputs in("dropout", {&x});
  check(rate >= 0 && rate < 1, "dropout: the rate must be in [0, 1), not {}", rate);
  if (!in[0].pass() || rate == 0) return x;
  return in.result(ops::dropout(in.dense(0), rate));
}

Tensor softmax(const Tensor& x, int axis) {
  const Inputs in("softmax", {&x});
  const int at = x.shape().index(axis);
  if (at != x.rank() - 1) return transpose(softmax(transpose(x, at, -1)), at, -1);
  return in.result(ops::softmax(in.dense(0)));
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  const Inputs in("layer_norm", {&x, &weight}, {&bias});
  return in.result(ops::layer_norm(in.dense(0), in.dense(1), in.dense(2), eps));
}

Tensor add_norm(const Tensor& x, const Tensor& branch, const Tensor& weight, const Tensor& bias, float eps,
                float dropout) {
  const Inputs in("add_norm", {&x, &branch, &weight}, {&bias});
  return in.result(ops::add_norm(in.dense(0), in.dense(1), in.dense(2), in.dense(3), {eps, dropout}).norm);
}

Tensor embedding(const Tensor& ids, const Tensor& table) {
  const Inputs in("embedding", {&ids, &table});
  check(table.rank() == 2, "embedding: the table must be [V, C], not {}", table.shape());
  check_range("embedding", ids, table.dim(0));
  return in.result(ops::embedding(in.dense(0), in.dense(1)));
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const Inputs in("attention", {&q, &k, &v}, {&options.key_lengths});
  check(q.rank() == 3 && k.rank() == 3 && v.rank() == 3,
        "attention: q, k and v must be [B, T, C], [B, S, C] and [B, S, C], not {}, {} and {}", q.shape(), k.shape(),
        v.shape());
  check_lengths("attention", options.key_lengths, k.dim(1));
  return in.result(ops::attention(in[0], in[1], in[2],
                                  {.heads = options.heads,
                                   .mask = {.causal = options.causal, .key_lengths = in.dense(3)},
                                   .dropout = options.dropout}));
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  const Inputs in("attention_weights", {&q, &k}, {&options.key_lengths});
  check(q.rank() == 3 && k.rank() == 3, "attention_weights: q and k must be [B, T, C] and [B, S, C], not {} and {}",
        q.shape(), k.shape());
  check_lengths("attention_weights", options.key_lengths, k.dim(1));
  WeightsProbe probe;
  Inner weights;
  {
    Pass pass(in[0].backend(), {.probe = &probe});
    const Inner keys = pass.input(in[1]), lengths = in.dense(2);
    ops::attention(
        pass.input(in[0]), keys, keys,
        {.heads = options.heads,
         .mask = {.causal = options.causal, .key_lengths = lengths.defined() ? pass.input(lengths) : lengths},
         .weights = &weights});
  }
  return in.result(weights);
}

Tensor additive_scores(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Inputs in("additive_scores", {&q, &k, &v});
  return in.result(ops::additive_scores(in.dense(0), in.dense(1), in.dense(2)));
}

Tensor feed_forward(const Tensor& x, const FeedForwardWeights& weights, Activation kind) {
  const Inputs in("feed_forward", {&x, &weights.expand, &weights.contract},
                  {&weights.expand_bias, &weights.contract_bias});
  return in.result(
      ops::feed_forward(in.dense(0), {in.dense(1), in.dense(3)}, {in.dense(2), in.dense(4)}, {.activation = kind}));
}

RnnResult recurrent(RnnKind kind, const Tensor& gates, const Tensor& weight, const Tensor& bias, const RnnState& start,
                    const Tensor& lengths) {
  const Inputs in("recurrent", {&gates, &weight}, {&bias, &start.hidden, &start.cell, &lengths});
  if (gates.rank() == 3) check_lengths("recurrent", lengths, gates.dim(1));
  const auto [states, hidden, cell] =
      ops::recurrent(static_cast<attend::RnnKind>(kind), in.dense(0), in.dense(1), in.dense(2),
                     {.hidden = in.dense(3), .cell = in.dense(4), .lengths = in.dense(5)});
  return {in.result(states), {in.result(hidden), cell.defined() ? in.result(cell) : Tensor()}};
}

Tensor cast(const Tensor& x, DType dtype) {
  const Inputs in("cast", {&x});
  check(is_float(x.dtype()) && is_float(dtype), "cast: from {} to {}; both must be floats", x.dtype(), dtype);
  return in.result(ops::cast(in.dense(0), dtype));
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  const Inputs in("cross_entropy", {&logits, &targets});
  check(logits.rank() >= 1, "cross_entropy: logits are {}, not [.., V]", logits.shape());
  check_range("cross_entropy", targets, logits.dim(-1), options.ignore);
  return in.result(
      ops::cross_entropy(in.dense(0), in.dense(1), {.smoothing = options.smoothing, .ignore = options.ignore}).mean);
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                            const CrossEntropyOptions& options) {
  const Inputs in("linear_cross_entropy", {&x, &weight, &targets}, {&bias});
  check(weight.rank() == 2, "linear_cross_entropy: weight must be [V, C], not {}", weight.shape());
  check_range("linear_cross_entropy", targets, weight.dim(0), options.ignore);
  return in.result(ops::linear_cross_entropy(in.dense(0), in.dense(1), in.dense(3), in.dense(2),
                                             {.smoothing = options.smoothing, .ignore = options.ignore})
                       .mean);
}

Tensor mean_squared_error(const Tensor& x, const Tensor& target) {
  check(x.shape() == target.shape(), "mean_squared_error: x is {} and target is {}", x.shape(), target.shape());
  const Tensor difference = x - target;
  return mean(difference * difference);
}

}  // namespace attend::layers
