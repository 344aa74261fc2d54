#include "attend/look/inspect/layer_probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attend/base/error.h"
#include "attend/look/inspect/source_lines.h"
#include "attend/look/inspect/weights.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"

namespace attend::look {

using view::Trace;

LayerProbe::LayerProbe(const Anatomy& anatomy, const AttentionPlace& place)
    : attention_(anatomy.at(place).label), feed_forward_(anatomy.feed_forward_of(place.stack, place.layer).label) {
  const auto in_layer = static_cast<std::size_t>(std::ranges::count_if(anatomy.attention, [&](const auto& one) {
    return one.place.stack == place.stack && one.place.layer == place.layer;
  }));
  const std::size_t begin = static_cast<std::size_t>(place.layer) * (in_layer + 1);
  before_ = begin + (place.kind == "cross" ? 1 : 0), end_ = begin + in_layer + 1;
}

void LayerProbe::part(std::string_view label, const nn::Part& part) {
  if (label == attention_) parts_.emplace(part.name, part.value);
  if (label == feed_forward_) parts_.emplace(part.name == "out" ? "fed" : part.name, part.value);
  if (label != "stream") return;
  if (seen_ == before_) parts_.emplace("stream", part.value);
  if (seen_ == before_ + 1) parts_.emplace("after", part.value);
  if (seen_++ == end_) parts_.emplace("end", part.value);
}

LayerParts LayerProbe::parts() const {
  const auto at = [&](std::string_view name) {
    const auto found = parts_.find(name);
    check(found != parts_.end(), "look: {} did not show its '{}'", attention_, name);
    return found->second;
  };
  return {at("stream"), at("read"),  at("q"),      at("k"),   at("v"),  at("mixed"),
          at("out"),    at("after"), at("hidden"), at("fed"), at("end")};
}

namespace {

Trace start_trace(const Anatomy& anatomy, const TraceRequest& request, const TracedTokens& tokens) {
  check(anatomy.has_layers(), "only a Transformer can be walked through step by step");
  const Anatomy::Attention& attention = anatomy.at(request.place, request.head);
  check(attention.score == nn::Score::scaled_dot || attention.score == nn::Score::dot,
        "the steps are those of the dot product; the score of this model is {}", nn::name_of(attention.score));
  check(!anatomy.relative || request.place.kind == "cross",
        "the steps do not show the bias that relative positions add to the scores");
  Trace trace{.queries = tokens.queries, .keys = tokens.keys};
  check(request.token >= 0 && request.token < static_cast<std::int64_t>(trace.queries.size()), "there is no token {}",
        request.token);
  trace.token = static_cast<std::size_t>(request.token), trace.head = static_cast<std::size_t>(request.head);
  trace.heads = static_cast<std::size_t>(attention.heads), trace.width = static_cast<std::size_t>(anatomy.width);
  trace.head_width = trace.width / trace.heads;
  return trace;
}

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

  HeadNumbers(const LayerParts& parts, const Trace& trace, bool causal, bool divided) {
    const std::size_t t = trace.token, size = trace.head_width, begin = trace.head * size, keys = trace.keys.size();
    q = cut(parts.q, t, 1, begin, size), k = cut(parts.k, 0, keys, begin, size);
    v = cut(parts.v, 0, keys, begin, size);
    scores.resize(keys), scaled.resize(keys), masked.resize(keys), weights.resize(keys), sum.resize(size);
    double total = 0, most = -std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < keys; ++s) {
      double dot = 0;
      for (std::size_t i = 0; i < size; ++i) dot += static_cast<double>(q[i]) * static_cast<double>(k[s * size + i]);
      scores[s] = static_cast<float>(dot);
      scaled[s] = static_cast<float>(divided ? dot / std::sqrt(static_cast<double>(size)) : dot);
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

  void attention(const LayerParts& parts, bool causal) {
    const std::size_t t = trace_.token, size = trace_.head_width, width = trace_.width;
    const bool cross = place_.kind == "cross", pre_norm = anatomy_.pre_norm;
    const bool divided = anatomy_.at(place_).score == nn::Score::scaled_dot;
    const HeadNumbers head(parts, trace_, causal, divided);
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
    matrix("scaled", divided ? fmt::format("sⱼ / √d,  d = {}", size) : "sⱼ", "scaled",
           divided ? "Divided by the root of the head's width, so that softmax does not saturate."
                   : "This model was trained without the division by √d.",
           head.scaled, 1);
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

  void feed_forward(const LayerParts& parts) {
    const std::size_t t = trace_.token, width = trace_.width;
    const bool after_cross = anatomy_.family == "transformer" && place_.stack == "decoder" && place_.kind == "self";
    const std::string line = anatomy_.family + " feed-forward";
    vector("hidden", fmt::format("{}(W₁ {} + b₁)", name_of(anatomy_.activation), anatomy_.pre_norm ? "x̂" : "x"), line,
           after_cross ? "The feed-forward layer, after the cross-attention of this layer."
                       : "The feed-forward layer works on each token alone.",
           cut(parts.hidden, t, 1, 0, static_cast<std::size_t>(parts.hidden.width())));
    vector("feed-forward", "W₂ hidden + b₂", line, "What it adds.", cut(parts.fed, t, 1, 0, width));
    vector("next layer", anatomy_.pre_norm ? "x ← x + feed-forward" : "x ← norm(x + feed-forward)", add_line(),
           last_layer() ? "The last layer's vector: it leaves the stack." : "The vector that the next layer reads.",
           cut(parts.end, t, 1, 0, width));
  }

 private:
  std::string x_line() const {
    return anatomy_.family == "transformer" ? fmt::format("{} {} x", place_.stack, place_.kind)
                                            : anatomy_.family + " x";
  }
  bool last_layer() const {
    return std::ranges::none_of(anatomy_.feed_forward, [&](const Anatomy::FeedForward& one) {
      return one.stack == place_.stack && one.layer > place_.layer;
    });
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

Trace trace_layer(const Anatomy& anatomy, const TraceRequest& request, const TracedTokens& tokens, Backend& backend,
                  const std::function<void(Pass& pass)>& forward) {
  Trace trace = start_trace(anatomy, request, tokens);
  LayerProbe probe(anatomy, request.place);
  Pass pass(backend, {.probe = &probe});
  forward(pass);
  const LayerParts parts = probe.parts();
  Writer writer(trace, anatomy, request.place);
  writer.attention(parts, tokens.causal);
  writer.feed_forward(parts);
  return trace;
}

}  // namespace attend::look
