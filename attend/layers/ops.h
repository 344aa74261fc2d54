// Differentiable functions of tensors. Letters: B batch, T and S positions, C width, H heads, D = C / H, V classes.
// An op throws Error if shapes, formats or devices do not fit, and names both sides.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "attend/layers/tensor.h"
#include "attend/tensor/activation.h"

namespace attend::layers {

// Arithmetic. One operand has the shape of the other, or the last axes of it, and then repeats over the leading axes.
Tensor add(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, float factor);
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return add(a, scale(b, -1)); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator*(const Tensor& x, float factor) { return scale(x, factor); }
inline Tensor operator*(float factor, const Tensor& x) { return scale(x, factor); }

// [M, K] x [K, N] -> [M, N], or both with leading axes [.., M, K] x [.., K, N].
Tensor matmul(const Tensor& a, const Tensor& b);
// x Wᵀ + b.   x [.., in]   weight [out, in]   bias [out] or undefined   ->   [.., out]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// Element by element.
Tensor activation(const Tensor& x, Activation kind);
inline Tensor relu(const Tensor& x) { return activation(x, Activation::relu); }
inline Tensor gelu(const Tensor& x) { return activation(x, Activation::gelu); }
inline Tensor silu(const Tensor& x) { return activation(x, Activation::silu); }
inline Tensor tanh(const Tensor& x) { return activation(x, Activation::tanh); }
inline Tensor sigmoid(const Tensor& x) { return activation(x, Activation::sigmoid); }
// Zeroes numbers with this probability and scales the rest by 1 / (1 - rate); returns x if nothing is recorded.
Tensor dropout(const Tensor& x, float rate);

Tensor softmax(const Tensor& x, int axis = -1);
// (x - mean) / √(variance + eps) · weight + bias over the last axis.   x [.., C]   weight, bias [C]
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps = 1e-5f);
// layer_norm(x + dropout(branch)), in one kernel: "Add & Norm" in figure 1 of Vaswani et al. 2017.
Tensor add_norm(const Tensor& x, const Tensor& branch, const Tensor& weight, const Tensor& bias, float eps = 1e-5f,
                float dropout = 0);

// Rows of a table.   ids i32 [..]   table [V, C]   ->   [.., C]
Tensor embedding(const Tensor& ids, const Tensor& table);
// Sinusoidal positions (Vaswani et al. 2017, section 3.5), [length, width]: even columns sin, odd columns cos.
Tensor sinusoids(const Device& device, std::int64_t length, std::int64_t width);

struct AttentionOptions {
  std::int64_t heads = 1;   // D = C / heads must be a multiple of 8, up to 128, or 256
  bool causal = false;      // position t attends to positions up to t
  Tensor key_lengths = {};  // i32 [B]: keys from there on are padding
  float dropout = 0;
};
// softmax(q kᵀ / √D + mask) v for each head.   q [B, T, C]   k, v [B, S, C]   ->   [B, T, C]
// Head h is columns [h·D, (h + 1)·D). The weights are never stored.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});
// Those weights, [B, H, T, S], for looking at. Not recorded.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options = {});
// scores[b, t, s] = v · tanh(q[b, t] + k[b, s]) (Bahdanau et al. 2015).   q [B, T, C]   k [B, S, C]   v [C]
Tensor additive_scores(const Tensor& q, const Tensor& k, const Tensor& v);

// f(x W₁ᵀ + b₁) W₂ᵀ + b₂ (Vaswani et al. 2017, section 3.3), as one op.
struct FeedForwardWeights {
  Tensor expand, expand_bias, contract, contract_bias;  // [hidden, C], [hidden], [C, hidden], [C]
};
Tensor feed_forward(const Tensor& x, const FeedForwardWeights& weights, Activation kind = Activation::relu);

// Images are [B, height, width, C], channels last.
struct Window2d {
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
//   weight [O, kh, kw, C / groups]   bias [O] or undefined   ->   [B, height', width', O]
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Window2d& window = {});
// Over square windows of this size.
Tensor max_pool2d(const Tensor& x, std::int64_t size, std::int64_t stride, std::int64_t padding = 0);
Tensor avg_pool2d(const Tensor& x, std::int64_t size, std::int64_t stride, std::int64_t padding = 0);

enum class RnnKind : std::uint8_t { tanh, gru, lstm };
struct RnnState {
  Tensor hidden = {}, cell = {};  // [B, C]; cell only of an lstm
};
struct RnnResult {
  Tensor states;  // [B, T, C]
  RnnState last;
};
// One layer over whole sequences, with PyTorch's order of the G gates (1, 3 or 4).
//   gates [B, T, G·C]: x W_ihᵀ + b_ih   weight [G·C, C]   bias [G·C] or undefined   lengths i32 [B] or undefined
RnnResult recurrent(RnnKind kind, const Tensor& gates, const Tensor& weight, const Tensor& bias,
                    const RnnState& start = {}, const Tensor& lengths = {});

// Over one axis, which the result is without; over all numbers, to [1].
Tensor sum(const Tensor& x, int axis);
Tensor mean(const Tensor& x, int axis);
Tensor max(const Tensor& x, int axis);
Tensor argmax(const Tensor& x, int axis = -1);  // i32, the first of equal ones; not differentiable
Tensor sum(const Tensor& x);
Tensor mean(const Tensor& x);

// Moving numbers.
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t count);
Tensor concat(std::span<const Tensor> parts, int axis);
inline Tensor concat(std::initializer_list<Tensor> parts, int axis) {
  return concat(std::span(parts.begin(), parts.size()), axis);
}
// Equal parts of the last axis.
std::vector<Tensor> split(const Tensor& x, std::int64_t parts);
// Axis i of the result is axis order[i] of x.
Tensor permute(const Tensor& x, std::span<const int> order);
inline Tensor permute(const Tensor& x, std::initializer_list<int> order) {
  return permute(x, std::span(order.begin(), order.size()));
}
Tensor transpose(const Tensor& x, int a = -2, int b = -1);  // exchanges two axes
Tensor cast(const Tensor& x, DType dtype);                  // between float formats

// Losses, as one number [1]: means over all targets.
struct CrossEntropyOptions {
  float smoothing = 0;         // label smoothing (Szegedy et al. 2016)
  std::int32_t ignore = -100;  // targets with this label do not count
};
//   logits [.., V]   targets i32 [..]
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});
// cross_entropy(linear(x, weight, bias), targets) without keeping the logits: for large vocabularies.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                            const CrossEntropyOptions& options = {});
Tensor mean_squared_error(const Tensor& x, const Tensor& target);

// Your own op: y was computed from the inputs in any way (Tensor::values, another library), and backward(dy) returns
// the gradient of each input, shaped like it, or an undefined tensor for none.
using Backward = std::function<std::vector<Tensor>(const Tensor& dy)>;
Tensor custom_op(std::span<const Tensor> inputs, const Tensor& y, Backward backward);
inline Tensor custom_op(std::initializer_list<Tensor> inputs, const Tensor& y, Backward backward) {
  return custom_op(std::span(inputs.begin(), inputs.size()), y, std::move(backward));
}

}  // namespace attend::layers
