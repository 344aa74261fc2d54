// Inspector::trace: the layers of a Transformer once more, op by op with the same kernels and weights, keeping what the
// fused path throws away. tests/serve compares it with what the model itself computes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>

#include "attend/base/error.h"
#include "attend/models/transformer.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"
#include "attend/tasks/inspect.h"

namespace attend::tasks {

namespace {

using models::Transformer;
using models::TransformerConfig;
using view::Trace;
using view::TraceStep;

constexpr const char* kAttentionFile = "attend/nn/attention.h";
constexpr const char* kKernelFile = "attend/cpu/rows/attention.cpp";

// What happens in one attention sublayer, for all tokens; [1, T, C] each.
struct AttentionParts {
  Tensor stream = {}, read = {}, q = {}, k = {}, v = {}, mixed = {}, projected = {}, after = {};
};
struct FeedForwardParts {
  Tensor read = {}, hidden = {}, out = {}, after = {};
};

// The model's layers, one op after another.
class Layers {
 public:
  Layers(const TransformerConfig& config, const nn::Parameters& parameters, Pass& pass)
      : config_(config), parameters_(parameters), pass_(pass) {}

  AttentionParts attend(const AttentionPlace& place, const Tensor& stream, const Tensor& memory,
                        const AttentionMask& mask) const {
    const std::string prefix = parameter_prefix(place);
    const std::string norm =
        fmt::format("{}.layers.{}.norm{}", place.stack, place.layer, place.kind == "cross" ? 2 : 1);
    AttentionParts parts{.stream = stream, .read = config_.pre_norm ? normalized(norm, stream) : stream};
    const std::string weight = prefix + ".in_proj_weight", bias = prefix + ".in_proj_bias";
    if (place.kind == "cross") {
      const std::int64_t rows = config_.width;
      parts.q = ops::linear(parts.read, value(weight), value(bias));
      std::tie(parts.k, parts.v) = halves(ops::linear(memory, value(weight, rows), value(bias, rows)));
    } else {
      auto [q, k, v] = ops::split<3>(ops::linear(parts.read, value(weight), value(bias)));
      parts.q = q, parts.k = k, parts.v = v;
    }
    parts.mixed = ops::attention(parts.q, parts.k, parts.v, {.heads = heads(place), .mask = mask});
    parts.projected = ops::linear(parts.mixed, value(prefix + ".out_proj.weight"), value(prefix + ".out_proj.bias"));
    parts.after = leave(norm, stream, parts.projected);
    return parts;
  }

  FeedForwardParts feed_forward(const std::string& stack, std::int64_t layer, const Tensor& stream) const {
    const std::string name = fmt::format("{}.layers.{}", stack, layer);
    const std::string norm = name + (stack == "decoder" ? ".norm3" : ".norm2");
    FeedForwardParts parts{.read = config_.pre_norm ? normalized(norm, stream) : stream};
    parts.hidden = ops::linear(parts.read, value(name + ".linear1.weight"), value(name + ".linear1.bias"),
                               {.activation = activation()});
    parts.out = ops::linear(parts.hidden, value(name + ".linear2.weight"), value(name + ".linear2.bias"));
    parts.after = leave(norm, stream, parts.out);
    return parts;
  }

  std::int64_t heads(const AttentionPlace& place) const {
    return place.stack == "decoder" && config_.decoder_heads ? config_.decoder_heads : config_.heads;
  }

 private:
  Tensor value(const std::string& name, std::int64_t first_row = 0) const {
    for (const nn::Parameters::Entry& entry : parameters_.entries())
      if (entry.name == name && entry.first_row == first_row) return pass_.input(entry.parameter->value);
    fail("trace: the model has no {}", name);
  }
  Tensor normalized(const std::string& norm, const Tensor& x) const {
    return ops::layer_norm(x, value(norm + ".weight"), value(norm + ".bias"));
  }
  Tensor leave(const std::string& norm, const Tensor& stream, const Tensor& branch) const {
    const Tensor sum = ops::add(stream, branch);
    return config_.pre_norm ? sum : normalized(norm, sum);
  }
  static std::pair<Tensor, Tensor> halves(const Tensor& x) {
    auto [a, b] = ops::split<2>(x);
    return {a, b};
  }
  Activation activation() const {
    for (const Activation kind : {Activation::gelu, Activation::gelu_tanh, Activation::silu})
      if (config_.activation == name_of(kind)) return kind;
    return Activation::relu;
  }

  const TransformerConfig& config_;
  const nn::Parameters& parameters_;
  Pass& pass_;
};

// Columns [begin, begin + count) of rows [first, first + rows) of x [1, T, C].
std::vector<float> cut(const Tensor& x, std::size_t first, std::size_t rows, std::size_t begin, std::size_t count) {
  const std::vector<float> all = download(ops::contiguous(x));
  const auto width = static_cast<std::size_t>(x.width());
  std::vector<float> result;
  for (std::size_t row = first; row < first + rows; ++row)
    for (std::size_t i = begin; i < begin + count; ++i) result.push_back(all[row * width + i]);
  return result;
}

// Writes the steps down for one token and one head.
class Writer {
 public:
  Writer(Trace& trace, const TransformerConfig& config) : trace_(trace), config_(config) {}

  void attention(const AttentionParts& parts, bool causal) {
    const std::size_t t = trace_.token, size = trace_.head_width, begin = trace_.head * size, keys = trace_.keys.size();
    const std::size_t width = trace_.width;
    vector("x", "xₜ", "attend/models/transformer.cpp",
           "The token's vector as it enters this sublayer: the residual stream.", cut(parts.stream, t, 1, 0, width));
    if (config_.pre_norm)
      vector("norm", "x̂ = (x − mean) / std · γ + β", "attend/ops/norm.h",
             "This model norms before each sublayer (pre-norm).", cut(parts.read, t, 1, 0, width));
    const std::vector<float> q = cut(parts.q, t, 1, begin, size), k = cut(parts.k, 0, keys, begin, size),
                             v = cut(parts.v, 0, keys, begin, size);
    vector("q", "q = W_Q x̂ + b_Q", kAttentionFile, "What this token asks for, in this head.", q);
    matrix("k", "K = W_K x̂ + b_K", kAttentionFile, "What every token offers: one key each.", k, size);
    matrix("v", "V = W_V x̂ + b_V", kAttentionFile, "What every token gives when it is looked at.", v, size);
    std::vector<float> scores(keys), scaled(keys), masked(keys), weights(keys), sum(size, 0.0f);
    double total = 0, most = -std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < keys; ++s) {
      double dot = 0;
      for (std::size_t i = 0; i < size; ++i) dot += static_cast<double>(q[i]) * k[s * size + i];
      scores[s] = static_cast<float>(dot);
      scaled[s] = static_cast<float>(dot / std::sqrt(static_cast<double>(size)));
      masked[s] = causal && s > t ? -std::numeric_limits<float>::infinity() : scaled[s];
      most = std::max(most, static_cast<double>(masked[s]));
    }
    for (std::size_t s = 0; s < keys; ++s) total += std::exp(masked[s] - most);
    for (std::size_t s = 0; s < keys; ++s) {
      weights[s] = static_cast<float>(std::exp(masked[s] - most) / total);
      for (std::size_t i = 0; i < size; ++i) sum[i] += weights[s] * v[s * size + i];
    }
    matrix("scores", "sⱼ = q · kⱼ", kKernelFile, "How well the question fits each key.", scores, 1);
    matrix("scaled", fmt::format("sⱼ / √d,  d = {}", size), kKernelFile,
           "Divided by the root of the head's width, so that softmax does not saturate.", scaled, 1);
    matrix("masked", causal ? "sⱼ = −∞ for j > t" : "nothing is hidden here", kKernelFile,
           causal ? "A token must not see what comes after it." : "Every token may look at every other.", masked, 1);
    matrix("softmax", "αⱼ = exp sⱼ / Σ exp s", kKernelFile, "Where the token looks: the numbers sum to 1.", weights, 1);
    vector("weights·v", "Σⱼ αⱼ vⱼ", kKernelFile, "The values, mixed by these weights.", sum);
    vector("concat", "[head₁ … headₕ]", kAttentionFile, "All heads side by side, as the fused kernel wrote them.",
           cut(parts.mixed, t, 1, 0, width));
    vector("W_O", "W_O · concat + b_O", kAttentionFile, "Mixed into what the sublayer adds.",
           cut(parts.projected, t, 1, 0, width));
    vector("add & norm", config_.pre_norm ? "x ← x + sublayer(x̂)" : "x ← norm(x + sublayer(x))", "attend/nn/residual.h",
           config_.pre_norm ? "Added to the stream; the norm waits for the next sublayer." : "Added, then normed.",
           cut(parts.after, t, 1, 0, width));
  }

  void feed_forward(const FeedForwardParts& parts, bool decoder_self) {
    const std::size_t t = trace_.token, width = trace_.width;
    const char* file = "attend/models/transformer.h";
    vector("hidden", fmt::format("{}(W₁ x̂ + b₁)", config_.activation), file,
           decoder_self ? "The feed-forward layer, after the cross-attention of this layer."
                        : "The feed-forward layer works on each token alone.",
           cut(parts.hidden, t, 1, 0, static_cast<std::size_t>(parts.hidden.width())));
    vector("feed-forward", "W₂ hidden + b₂", file, "What it adds.", cut(parts.out, t, 1, 0, width));
    vector("next layer", config_.pre_norm ? "x ← x + feed-forward" : "x ← norm(x + feed-forward)",
           "attend/nn/residual.h", "The vector that the next layer reads.", cut(parts.after, t, 1, 0, width));
  }

 private:
  void vector(const char* name, std::string formula, const char* file, const char* note, std::vector<float> values) {
    const std::size_t columns = values.size();
    trace_.steps.push_back({name, std::move(formula), file, note, {}, columns, std::move(values)});
  }
  void matrix(const char* name, std::string formula, const char* file, const char* note, std::vector<float> values,
              std::size_t columns) {
    trace_.steps.push_back({name, std::move(formula), file, note, trace_.keys, columns, std::move(values)});
  }

  Trace& trace_;
  const TransformerConfig& config_;
};

}  // namespace

Trace Inspector::trace(const std::string& text, const std::vector<std::int32_t>& target, const AttentionPlace& place,
                       std::int64_t head, std::int64_t token) {
  const auto* model = dynamic_cast<const Transformer*>(loaded_.model.get());
  check(model != nullptr, "only a Transformer can be walked through step by step");
  const TransformerConfig& config = model->settings();
  bool found = false;
  for (const auto& [known, heads] : places())
    found = found || (known.stack == place.stack && known.kind == place.kind && known.layer == place.layer &&
                      head >= 0 && head < heads);
  check(found, "there is no head {} of {} {} {}", head, place.stack, place.kind, place.layer);
  const bool decoder = place.stack == "decoder";
  const std::vector<std::int32_t> source_ids = encode(text);
  std::vector<std::int32_t> inputs{start_};
  if (decoder) {
    check(!target.empty() && static_cast<std::int64_t>(target.size()) <= config.max_length, "there is no target");
    for (const std::int32_t id : target) check(id >= 0 && id < config.vocabulary, "there is no token {}", id);
    inputs.insert(inputs.end(), target.begin(), target.end() - 1);
  }
  const auto labels = [&](std::vector<std::int32_t> ids, bool with_end) {
    ids.erase(with_end ? ids.end() - 1 : ids.begin());
    std::vector<std::string> pieces = loaded_.translator.pieces(ids);
    pieces.insert(with_end ? pieces.end() : pieces.begin(), with_end ? kEndToken : kStartToken);
    return pieces;
  };
  Trace trace;
  trace.queries = decoder ? labels(inputs, false) : labels(source_ids, true);
  trace.keys = place.kind == "cross" ? labels(source_ids, true) : trace.queries;
  check(token >= 0 && token < static_cast<std::int64_t>(trace.queries.size()), "there is no token {}", token);

  Pass pass(backend_);
  const Layers layers(config, loaded_.parameters, pass);
  trace.token = static_cast<std::size_t>(token), trace.head = static_cast<std::size_t>(head);
  trace.heads = static_cast<std::size_t>(layers.heads(place)), trace.width = static_cast<std::size_t>(config.width);
  trace.head_width = trace.width / trace.heads;
  Writer writer(trace, config);
  const auto embedded = [&](const std::vector<std::int32_t>& ids, Transformer::Side side) {
    const Tensor tensor = make_tensor(backend_, {1, static_cast<std::int64_t>(ids.size())}, DType::i32);
    upload(tensor, ids);
    return model->embed(nn::Sequences{.ids = tensor}.in(pass), side);
  };
  if (!decoder) {
    Tensor stream = embedded(source_ids, Transformer::Side::source);
    for (std::int64_t layer = 0; layer <= place.layer; ++layer) {
      const AttentionParts parts = layers.attend({"encoder", "self", layer}, stream, {}, {});
      const FeedForwardParts fed = layers.feed_forward("encoder", layer, parts.after);
      if (layer == place.layer) writer.attention(parts, false), writer.feed_forward(fed, false);
      stream = fed.after;
    }
    return trace;
  }
  const Tensor memory = model->encode(embedded(source_ids, Transformer::Side::source), {});
  Tensor stream = embedded(inputs, Transformer::Side::target);
  for (std::int64_t layer = 0; layer <= place.layer; ++layer) {
    const AttentionParts self = layers.attend({"decoder", "self", layer}, stream, {}, {.causal = true});
    const AttentionParts cross = layers.attend({"decoder", "cross", layer}, self.after, memory, {});
    const FeedForwardParts fed = layers.feed_forward("decoder", layer, cross.after);
    if (layer == place.layer) {
      writer.attention(place.kind == "self" ? self : cross, place.kind == "self");
      writer.feed_forward(fed, place.kind == "self");
    }
    stream = fed.after;
  }
  return trace;
}

}  // namespace attend::tasks
