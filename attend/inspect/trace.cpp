#include "attend/inspect/trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attend/base/error.h"
#include "attend/inspect/source_lines.h"
#include "attend/inspect/weights.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"

namespace attend::tasks {

using view::Trace;

AttentionParts LayerWalk::attend(const Anatomy::Attention& attention, const Tensor& stream, const Tensor& memory,
                                 bool causal) const {
  AttentionParts parts{.stream = stream, .read = anatomy_.pre_norm ? normalized(attention.norm, stream) : stream};
  const ops::LinearOptions order{.input_major = anatomy_.input_major};
  if (memory.defined()) {
    const std::int64_t rows = anatomy_.width;
    parts.q = ops::linear(parts.read, value(attention.input_weight), value(attention.input_bias), order);
    auto [k, v] = ops::split<2>(
        ops::linear(memory, value(attention.input_weight, rows), value(attention.input_bias, rows), order));
    parts.k = k, parts.v = v;
  } else {
    auto [q, k, v] =
        ops::split<3>(ops::linear(parts.read, value(attention.input_weight), value(attention.input_bias), order));
    parts.q = q, parts.k = k, parts.v = v;
  }
  parts.mixed =
      ops::attention(parts.q, parts.k, parts.v, {.heads = attention.heads, .mask = AttentionMask{.causal = causal}});
  parts.projected =
      ops::linear(parts.mixed, value(attention.output + ".weight"), value(attention.output + ".bias"), order);
  parts.after = leave(attention.norm, stream, parts.projected);
  return parts;
}

FeedForwardParts LayerWalk::feed_forward(const Anatomy::FeedForward& names, const Tensor& stream) const {
  FeedForwardParts parts{.read = anatomy_.pre_norm ? normalized(names.norm, stream) : stream};
  parts.hidden = ops::linear(parts.read, value(names.expand + ".weight"), value(names.expand + ".bias"),
                             {.activation = anatomy_.activation, .input_major = anatomy_.input_major});
  parts.out = ops::linear(parts.hidden, value(names.contract + ".weight"), value(names.contract + ".bias"),
                          {.input_major = anatomy_.input_major});
  parts.after = leave(names.norm, stream, parts.out);
  return parts;
}

Tensor LayerWalk::value(const std::string& name, std::int64_t first_row) const {
  return pass_.input(find_entry(parameters_, name, first_row).parameter->value);
}

Tensor LayerWalk::normalized(const std::string& norm, const Tensor& x) const {
  return ops::layer_norm(x, value(norm + ".weight"), value(norm + ".bias"), anatomy_.norm_eps);
}

Tensor LayerWalk::leave(const std::string& norm, const Tensor& stream, const Tensor& branch) const {
  const Tensor sum = ops::add(stream, branch);
  return anatomy_.pre_norm ? sum : normalized(norm, sum);
}

Trace start_trace(const Anatomy& anatomy, const TraceRequest& request, std::vector<std::string> queries,
                  std::vector<std::string> keys) {
  check(anatomy.has_layers(), "only a Transformer can be walked through step by step");
  const Anatomy::Attention& attention = anatomy.at(request.place, request.head);
  Trace trace{.queries = std::move(queries), .keys = std::move(keys)};
  check(request.token >= 0 && request.token < static_cast<std::int64_t>(trace.queries.size()), "there is no token {}",
        request.token);
  trace.token = static_cast<std::size_t>(request.token), trace.head = static_cast<std::size_t>(request.head);
  trace.heads = static_cast<std::size_t>(attention.heads), trace.width = static_cast<std::size_t>(anatomy.width);
  trace.head_width = trace.width / trace.heads;
  return trace;
}

namespace {

// Columns [begin, begin + count) of rows [first, first + rows) of x [1, T, C].
std::vector<float> cut(const Tensor& x, std::size_t first, std::size_t rows, std::size_t begin, std::size_t count) {
  const std::vector<float> all = download(ops::contiguous(x));
  const auto width = static_cast<std::size_t>(x.width());
  std::vector<float> result;
  for (std::size_t row = first; row < first + rows; ++row)
    for (std::size_t i = begin; i < begin + count; ++i) result.push_back(all[row * width + i]);
  return result;
}

// One query's way through one head, in double precision: what the fused kernel does in one go.
struct HeadNumbers {
  std::vector<float> q, k, v, scores, scaled, masked, weights, sum;

  HeadNumbers(const AttentionParts& parts, const Trace& trace, bool causal) {
    const std::size_t t = trace.token, size = trace.head_width, begin = trace.head * size, keys = trace.keys.size();
    q = cut(parts.q, t, 1, begin, size), k = cut(parts.k, 0, keys, begin, size);
    v = cut(parts.v, 0, keys, begin, size);
    scores.resize(keys), scaled.resize(keys), masked.resize(keys), weights.resize(keys), sum.resize(size);
    double total = 0, most = -std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < keys; ++s) {
      double dot = 0;
      for (std::size_t i = 0; i < size; ++i) dot += static_cast<double>(q[i]) * static_cast<double>(k[s * size + i]);
      scores[s] = static_cast<float>(dot);
      scaled[s] = static_cast<float>(dot / std::sqrt(static_cast<double>(size)));
      masked[s] = causal && s > t ? -std::numeric_limits<float>::infinity() : scaled[s];
      most = std::max(most, static_cast<double>(masked[s]));
    }
    for (std::size_t s = 0; s < keys; ++s) total += std::exp(static_cast<double>(masked[s]) - most);
    for (std::size_t s = 0; s < keys; ++s) {
      weights[s] = static_cast<float>(std::exp(static_cast<double>(masked[s]) - most) / total);
      for (std::size_t i = 0; i < size; ++i) sum[i] += weights[s] * v[s * size + i];
    }
  }
};

class Writer {
 public:
  Writer(Trace& trace, const Anatomy& anatomy, const AttentionPlace& place)
      : trace_(trace), anatomy_(anatomy), place_(place) {}

  void attention(const AttentionParts& parts, bool causal) {
    const std::size_t t = trace_.token, size = trace_.head_width, width = trace_.width;
    const bool cross = place_.kind == "cross", pre_norm = anatomy_.pre_norm;
    const HeadNumbers head(parts, trace_, causal);
    vector("x", "xₜ", x_line(), "The token's vector as it enters this sublayer: the residual stream.",
           cut(parts.stream, t, 1, 0, width));
    if (pre_norm)
      vector("norm", "x̂ = (x − mean) / std · γ + β", "norm", "This model norms before each sublayer (pre-norm).",
             cut(parts.read, t, 1, 0, width));
    const char* read = pre_norm ? "x̂" : "x";
    vector("q", fmt::format("q = W_Q {} + b_Q", read), cross ? "cross q" : "self input",
           "What this token asks for, in this head.", head.q);
    const std::string input = cross ? "cross kv" : "self input", from = cross ? "memory" : read;
    matrix("k", fmt::format("K = W_K {} + b_K", from), input,
           cross ? "What every token the encoder read offers: one key each." : "What every token offers: one key each.",
           head.k, size);
    matrix("v", fmt::format("V = W_V {} + b_V", from), input, "What every token gives when it is looked at.", head.v,
           size);
    matrix("scores", "sⱼ = q · kⱼ", "scores", "How well the question fits each key.", head.scores, 1);
    matrix("scaled", fmt::format("sⱼ / √d,  d = {}", size), "scaled",
           "Divided by the root of the head's width, so that softmax does not saturate.", head.scaled, 1);
    matrix("masked", causal ? "sⱼ = −∞ for j > t" : "nothing is hidden here", "masked",
           causal ? "A token must not see what comes after it." : "Every token may look at every other.", head.masked,
           1);
    matrix("softmax", "αⱼ = exp sⱼ / Σ exp s", "softmax", "Where the token looks: the numbers sum to 1.", head.weights,
           1);
    vector("weights·v", "Σⱼ αⱼ vⱼ", "weights·v", "The values, mixed by these weights.", head.sum);
    vector("concat", "[head₁ … headₕ]", "concat", "All heads side by side, as the fused kernel wrote them.",
           cut(parts.mixed, t, 1, 0, width));
    vector("W_O", "W_O · concat + b_O", cross ? "cross output" : "self output", "Mixed into what the sublayer adds.",
           cut(parts.projected, t, 1, 0, width));
    vector("add & norm", pre_norm ? "x ← x + sublayer(x̂)" : "x ← norm(x + sublayer(x))", add_line(),
           pre_norm ? "Added to the stream; the norm waits for the next sublayer." : "Added, then normed.",
           cut(parts.after, t, 1, 0, width));
  }

  void feed_forward(const FeedForwardParts& parts) {
    const std::size_t t = trace_.token, width = trace_.width;
    const bool after_cross = anatomy_.family == "transformer" && place_.stack == "decoder" && place_.kind == "self";
    const std::string line = anatomy_.family + " feed-forward";
    vector("hidden", fmt::format("{}(W₁ {} + b₁)", name_of(anatomy_.activation), anatomy_.pre_norm ? "x̂" : "x"), line,
           after_cross ? "The feed-forward layer, after the cross-attention of this layer."
                       : "The feed-forward layer works on each token alone.",
           cut(parts.hidden, t, 1, 0, static_cast<std::size_t>(parts.hidden.width())));
    vector("feed-forward", "W₂ hidden + b₂", line, "What it adds.", cut(parts.out, t, 1, 0, width));
    vector("next layer", anatomy_.pre_norm ? "x ← x + feed-forward" : "x ← norm(x + feed-forward)", add_line(),
           "The vector that the next layer reads.", cut(parts.after, t, 1, 0, width));
  }

 private:
  std::string x_line() const {
    return anatomy_.family == "transformer" ? fmt::format("{} {} x", place_.stack, place_.kind)
                                            : anatomy_.family + " x";
  }
  std::string add_line() const { return anatomy_.pre_norm ? "add before norm" : "add and norm"; }

  void vector(const char* name, std::string formula, const std::string& line, const char* note,
              std::vector<float> values) {
    const std::size_t columns = values.size();
    add(name, std::move(formula), line, note, {}, columns, std::move(values));
  }
  void matrix(const char* name, std::string formula, const std::string& line, const char* note,
              std::vector<float> values, std::size_t columns) {
    add(name, std::move(formula), line, note, trace_.keys, columns, std::move(values));
  }
  void add(const char* name, std::string formula, const std::string& line, const char* note,
           std::vector<std::string> rows, std::size_t columns, std::vector<float> values) {
    const SourceLine& source = source_line(line);
    trace_.steps.push_back({.name = name,
                            .formula = std::move(formula),
                            .file = std::string(source.file),
                            .line = source.line,
                            .note = note,
                            .rows = std::move(rows),
                            .columns = columns,
                            .values = std::move(values)});
  }

  Trace& trace_;
  const Anatomy& anatomy_;
  const AttentionPlace& place_;
};

}  // namespace

void write_steps(Trace& trace, const Anatomy& anatomy, const AttentionPlace& place, const WalkedLayer& layer) {
  Writer writer(trace, anatomy, place);
  writer.attention(layer.attention, layer.causal);
  writer.feed_forward(layer.feed_forward);
}

Trace trace_stack(const Anatomy& anatomy, const nn::Parameters& parameters, Pass& pass, const StackInput& input,
                  const TraceRequest& request) {
  Trace trace = start_trace(anatomy, request, input.tokens, input.tokens);
  const LayerWalk walk(anatomy, parameters, pass);
  Tensor stream = input.embedded;
  for (std::int64_t layer = 0; layer <= request.place.layer; ++layer) {
    const AttentionPlace place{request.place.stack, "self", layer};
    const AttentionParts parts = walk.attend(anatomy.at(place), stream, {}, input.causal);
    const FeedForwardParts fed = walk.feed_forward(anatomy.feed_forward_of(place.stack, layer), parts.after);
    if (layer == request.place.layer) write_steps(trace, anatomy, place, {parts, fed, input.causal});
    stream = fed.after;
  }
  return trace;
}

}  // namespace attend::tasks
