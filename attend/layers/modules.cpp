#include "attend/layers/modules.h"

#include <cmath>

#include "attend/base/limits.h"
#include "attend/layers/inner.h"

namespace attend::layers {

namespace {

// Rows [begin, begin + count) of a parameter, recorded with x.
Tensor rows_of(const Parameter& parameter, const Tensor& x, std::int64_t begin, std::int64_t count) {
  return slice(beside(x, parameter), 0, begin, count);
}

void check_input(const char* layer, const Tensor& x, const Shape& weight, std::int64_t width) {
  check(x.rank() > 0 && x.dim(-1) == width, "{}: its weight is {}, so x must be [.., {}], not {}", layer, weight, width,
        x.shape());
}

void check_sequence(const char* layer, const Tensor& x, std::int64_t width) {
  check(x.rank() == 3 && x.dim(2) == width, "{}: wants [B, T, {}], not {}", layer, width, x.shape());
}

void check_heads(std::int64_t width, std::int64_t heads) {
  check(heads > 0 && width > 0 && width % heads == 0, "multi_head_attention: a width of {} and {} heads", width, heads);
}

// He et al. 2015 (fan out).
Parameter convolution_weight(std::int64_t in, std::int64_t out, const Conv2dOptions& options) {
  const std::int64_t groups = options.window.groups, kernel = options.kernel;
  check(in > 0 && out > 0 && kernel > 0 && groups > 0 && in % groups == 0 && out % groups == 0,
        "conv2d: {} inputs, {} outputs, a kernel of {} and {} groups", in, out, kernel, groups);
  return Parameter::convolution({out, kernel, kernel, in / groups},
                                {Init::normal, nn::Init::he(kernel * kernel * out / groups).spread});
}

std::int64_t hidden_width(const TransformerLayerOptions& options) {
  check(options.hidden >= 0, "transformer: a hidden width of {}", options.hidden);
  return options.hidden > 0 ? options.hidden : 4 * options.width;
}

Tensor bias_of(const Linear& layer) { return layer.has_bias ? layer.bias.value() : Tensor(); }

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias)
    : weight({out, in}, Init::xavier(in, out)), bias(Shape{out}), has_bias(with_bias) {}

Tensor Linear::operator()(const Tensor& x) const {
  check_input("linear", x, weight.shape(), weight.shape()[1]);
  const Tensor matrix = weight;  // named first if there are no numbers yet
  return linear(x, matrix, bias_of(*this));
}

// N(0, 1 / width): with Vaswani's factor of √width the rows have unit variance, and logits() begins small.
Embedding::Embedding(std::int64_t count, std::int64_t width)
    : weight({count, width}, {Init::normal, 1 / std::sqrt(static_cast<float>(width))}) {}

Tensor Embedding::operator()(const Tensor& ids) const { return embedding(ids, weight); }
Tensor Embedding::logits(const Tensor& x) const { return linear(x, weight); }

LayerNorm::LayerNorm(std::int64_t width, float epsilon)
    : weight(Shape{width}, {Init::ones}), bias(Shape{width}), eps(epsilon) {}

Tensor LayerNorm::operator()(const Tensor& x) const { return layer_norm(x, weight, bias, eps); }

Tensor LayerNorm::add(const Tensor& x, const Tensor& branch, float dropout) const {
  return add_norm(x, branch, weight, bias, eps, dropout);
}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, const Conv2dOptions& settings)
    : weight(convolution_weight(in, out, settings)), bias(Shape{out}), options(settings) {}

Tensor Conv2d::operator()(const Tensor& x) const {
  return conv2d(x, weight, options.bias ? bias.value() : Tensor(), options.window);
}

MultiHeadAttention::MultiHeadAttention(std::int64_t model_width, std::int64_t head_count, float dropout_rate)
    : width(model_width),
      heads(head_count),
      dropout(dropout_rate),
      in_weight({3 * width, width}, Init::xavier(width, width)),
      in_bias(Shape{3 * width}),
      out(width, width) {
  check_heads(width, heads);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Mask& mask) const {
  check_sequence("multi_head_attention", x, width);
  const std::vector<Tensor> qkv = split(linear(x, in_weight, in_bias), 3);  // [B, T, width] each, without a copy
  return out(attention(qkv[0], qkv[1], qkv[2], {heads, mask.causal, mask.key_lengths, dropout}));
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& memory, const Mask& mask) const {
  check_sequence("multi_head_attention", x, width);
  check_sequence("multi_head_attention: its memory", memory, width);
  const Tensor& lead = Access::tape_of(x) ? x : memory;
  const Tensor q = linear(x, rows_of(in_weight, lead, 0, width), rows_of(in_bias, lead, 0, width));
  const std::vector<Tensor> kv =
      split(linear(memory, rows_of(in_weight, lead, width, 2 * width), rows_of(in_bias, lead, width, 2 * width)), 2);
  return out(attention(q, kv[0], kv[1], {heads, mask.causal, mask.key_lengths, dropout}));
}

Tensor MultiHeadAttention::weights(const Tensor& x, const Tensor& memory, const Mask& mask) const {
  check_sequence("multi_head_attention", x, width);
  check_sequence("multi_head_attention: its memory", memory, width);
  const std::vector<Tensor> of_x = split(linear(x, in_weight, in_bias), 3),
                            of_memory = split(linear(memory, in_weight, in_bias), 3);
  return attention_weights(of_x[0], of_memory[1], {heads, mask.causal, mask.key_lengths, 0});
}

FeedForward::FeedForward(std::int64_t width, std::int64_t hidden, Activation function)
    : linear1(width, hidden), linear2(hidden, width), kind(function) {}

Tensor FeedForward::operator()(const Tensor& x) const {
  check_input("feed_forward", x, linear1.weight.shape(), linear1.weight.shape()[1]);
  return layers::feed_forward(x, {linear1.weight, linear1.bias, linear2.weight, linear2.bias}, kind);
}

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerLayerOptions& settings)
    : options(settings),
      self_attn(settings.width, settings.heads, settings.dropout),
      feed_forward(settings.width, hidden_width(settings), settings.activation),
      norm1(settings.width),
      norm2(settings.width) {}

Tensor TransformerEncoderLayer::operator()(const Tensor& x, const Mask& mask) const {
  const float rate = options.dropout;
  if (options.pre_norm) {
    const Tensor h = x + dropout(self_attn(norm1(x), mask), rate);
    return h + dropout(feed_forward(norm2(h)), rate);
  }
  const Tensor h = norm1.add(x, self_attn(x, mask), rate);
  return norm2.add(h, feed_forward(h), rate);
}

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerLayerOptions& settings)
    : options(settings),
      self_attn(settings.width, settings.heads, settings.dropout),
      multihead_attn(settings.width, settings.heads, settings.dropout),
      feed_forward(settings.width, hidden_width(settings), settings.activation),
      norm1(settings.width),
      norm2(settings.width),
      norm3(settings.width) {}

Tensor TransformerDecoderLayer::operator()(const Tensor& x, const Tensor& memory, const Mask& mask,
                                           const Mask& memory_mask) const {
  const float rate = options.dropout;
  if (options.pre_norm) {
    const Tensor h = x + dropout(self_attn(norm1(x), mask), rate);
    const Tensor read = h + dropout(multihead_attn(norm2(h), memory, memory_mask), rate);
    return read + dropout(feed_forward(norm3(read)), rate);
  }
  const Tensor h = norm1.add(x, self_attn(x, mask), rate);
  const Tensor read = norm2.add(h, multihead_attn(h, memory, memory_mask), rate);
  return norm3.add(read, feed_forward(read), rate);
}

Recurrent::Recurrent(RnnKind recurrent_kind, std::int64_t in, std::int64_t width, std::int64_t count)
    : kind(recurrent_kind) {
  check(in > 0 && width > 0 && count > 0 && count <= limits::kMostLayers,
        "recurrent: {} inputs, a width of {}, {} layers", in, width, count);
  const std::int64_t gates = (kind == RnnKind::tanh ? 1 : kind == RnnKind::gru ? 3 : 4) * width;
  const Init hidden{Init::uniform, 1 / std::sqrt(static_cast<float>(width))};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t inputs = i == 0 ? in : width;
    layers.push_back({Parameter({gates, inputs}, Init::xavier(inputs, width)), Parameter({gates, width}, hidden),
                      Parameter(Shape{gates}), Parameter(Shape{gates})});
  }
}

RnnResult Recurrent::operator()(const Tensor& x, const RnnState& start, const Tensor& lengths) const {
  check(!layers.empty(), "recurrent: it has no layers");
  check_sequence("recurrent", x, layers[0].input_weight.shape()[1]);
  RnnResult result{x, {}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const Tensor gates = linear(result.states, layer.input_weight, layer.input_bias);
    const bool last = i + 1 == layers.size();
    result = recurrent(kind, gates, layer.hidden_weight, layer.hidden_bias, last ? start : RnnState{}, lengths);
  }
  return result;
}

}  // namespace attend::layers
