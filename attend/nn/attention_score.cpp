// Attention scores other than the scaled dot product.
#include "attend/nn/attention_score.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/ops/activation.h"
#include "attend/ops/additive_attention.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

namespace {

constexpr std::pair<Score, std::string_view> kNames[] = {{Score::scaled_dot, "scaled-dot"},
                                                         {Score::dot, "dot"},
                                                         {Score::general, "general"},
                                                         {Score::additive, "additive"},
                                                         {Score::cosine, "cosine"}};

// 0 where s <= t and -inf elsewhere, [T, T]. Rows of [T, 2·T] hold T zeros and then T times -inf; read with a stride
// of 2·T - 1, each row starts one place later in the zeros. Nothing is uploaded, so a captured step may contain it.
Tensor causal_bias(const Tensor& beside, std::int64_t length) {
  const Tensor rows = like(beside, {length, 2 * length});
  rows.backend().fill(rows.columns(0, length), 0);
  rows.backend().fill(rows.columns(length, length), -std::numeric_limits<float>::infinity());
  const Tensor from = rows.reshape({2 * length * length, 1}).slice_first(length - 1, length * (2 * length - 1));
  return ops::contiguous(from.reshape({length, 2 * length - 1}).columns(0, length));
}

}  // namespace

std::string_view name_of(Score score) {
  for (const auto& [kind, name] : kNames)
    if (kind == score) return name;
  return "";
}

Score score_named(std::string_view name, std::string_view what) {
  for (const auto& [kind, known] : kNames)
    if (known == name) return kind;
  fail("{}: unknown attention_score '{}'; there are scaled-dot, dot, general, additive and cosine", what, name);
}

AttentionScore::AttentionScore(Score kind, std::int64_t width, std::int64_t heads)
    : kind_(kind),
      heads_(heads),
      head_width_(width / heads),
      general_{{heads, head_width_, head_width_}, Init::xavier(head_width_, head_width_)},
      additive_{{heads, head_width_}, {Init::uniform, 1 / std::sqrt(static_cast<float>(head_width_))}},
      sharpness_{{heads, 1}, {Init::ones}},
      each_head_({heads},
                 [heads] {
                   std::vector<std::int32_t> ids;
                   for (std::int64_t h = 0; h < heads; ++h) ids.push_back(static_cast<std::int32_t>(h));
                   return ids;
                 }),
      head_of_column_({width},
                      [width, heads] {
                        std::vector<std::int32_t> ids;
                        for (std::int64_t i = 0; i < width; ++i)
                          ids.push_back(static_cast<std::int32_t>(i / (width / heads)));
                        return ids;
                      }),
      ones_({2 * head_width_}, [n = static_cast<std::size_t>(2 * head_width_)] { return std::vector<float>(n, 1.0f); }),
      zeros_({2 * head_width_},
             [n = static_cast<std::size_t>(2 * head_width_)] { return std::vector<float>(n, 0.0f); }) {}

// Each head of x [.., H·D] divided by its length. The layer norm of [x, -x] is √D · [x, -x] / |x|, because its mean is
// 0; so an existing kernel and its gradient serve on every device.
Tensor AttentionScore::unit(const Tensor& x) const {
  constexpr float kEps = 1e-10f;
  const Tensor rows = ops::contiguous(x).reshape({-1, head_width_});  // [rows·H, D]
  const Tensor both =
      ops::layer_norm(ops::concat({rows, ops::scale(rows, -1)}, -1), ones_.beside(x), zeros_.beside(x), kEps);
  return ops::scale(ops::slice(both, 1, 0, head_width_), 1 / std::sqrt(static_cast<float>(head_width_)))
      .reshape(x.shape());
}

Tensor AttentionScore::query(const Tensor& q) const {
  if (kind_ == Score::cosine)  // [.., C] times [C], s of each head
    return ops::multiply(unit(q), ops::gather(sharpness_, head_of_column_.beside(q)).reshape({q.width()}));
  if (kind_ != Score::general) return q;
  const Tensor by_heads =
      ops::permute(ops::contiguous(q).reshape({-1, heads_, head_width_}), {1, 0, 2});  // [H, rows, D]
  return ops::permute(ops::matmul(by_heads, general_), {1, 0, 2}).reshape(q.shape());
}

Tensor AttentionScore::key(const Tensor& k) const { return kind_ == Score::cosine ? unit(k) : k; }

Tensor AttentionScore::attend(const Tensor& q, const Tensor& k, const Tensor& v, ops::AttentionOptions options) const {
  if (kind_ == Score::additive) return additive_attention(q, k, v, options);
  options.scale = scale();
  return ops::attention(q, k, v, options);
}

// The sums q + k of all pairs differ in every component, so nothing fused exists: scores, softmax and product are ops
// of their own. k and v may be a cache by heads, [B, 2·H, S, D].
Tensor AttentionScore::additive_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                          const ops::AttentionOptions& options) const {
  const AttentionMask& mask = options.mask;
  check(!mask.query_offsets.defined() && q.rank() == 3, "{}: the additive score needs padded batches", options.label);
  check(!mask.windowed() && !mask.seen_from.defined(), "{}: the additive score has no attention window", options.label);
  const bool cached = k.rank() == 4;
  // [B, H, S, D] each. A cache of bf16 becomes f32 again.
  const Tensor keys = ops::cast(cached ? ops::slice(k, 1, 0, heads_) : ops::split_heads(k, heads_), q.dtype());
  const Tensor values = ops::cast(cached ? ops::slice(v, 1, heads_, heads_) : ops::split_heads(v, heads_), q.dtype());
  const Tensor queries = ops::split_heads(q, heads_);                  // [B, H, T, D]
  const Tensor weight = ops::gather(additive_, each_head_.beside(q));  // [H, D], in the pass of q
  const std::int64_t B = q.dim(0), T = q.dim(1), S = keys.dim(2), D = head_width_;
  std::vector<Tensor> of_heads;
  for (std::int64_t h = 0; h < heads_; ++h)
    of_heads.push_back(ops::additive_scores(ops::slice(queries, 1, h, 1).reshape({B, T, D}),
                                            ops::slice(keys, 1, h, 1).reshape({B, S, D}),
                                            ops::slice(weight, 0, h, 1).reshape({D}))
                           .reshape({B, 1, T, S}));
  Tensor scores = ops::concat(of_heads, 1);  // [B, H, T, S]
  if (mask.bias.defined())
    scores = ops::add(scores, mask.bias.dim(0) == 1 ? mask.bias.reshape({heads_, T, S}) : mask.bias);
  if (mask.causal) {
    check(T == S, "{}: {} queries and {} keys of one text", options.label, T, S);
    scores = ops::add(scores, causal_bias(scores, T));
  }
  const Tensor weights = ops::softmax(scores, mask.key_lengths);
  if (Probe* probe = q.pass() ? q.pass()->probe() : nullptr)
    probe->attention(options.label, ops::cast(weights, DType::f32));
  const Tensor mixed = ops::matmul(ops::dropout(weights, options.dropout).reshape({B * heads_, T, S}),
                                   values.reshape({B * heads_, S, D}));
  return ops::merge_heads(mixed.reshape({B, heads_, T, D}));  // [B, T, C]
}

}  // namespace attend::nn
