// How attention compares a query with a key, in each head of width D:
//   scaled-dot   q·k / √D              (Vaswani et al. 2017, section 3.2.1)
//   dot          q·k                   (Luong et al. 2015, section 3.1)
//   general      qᵀ W k                (Luong et al. 2015; also called multiplicative)
//   additive     w · tanh(q + k)       (Bahdanau et al. 2015; W and U of the paper are the projections of q and k)
//   cosine       10 s · q·k / |q| |k|  (Liu et al. 2022, "Swin Transformer V2"; s is learned and starts at 1)
// All but the additive score are products of changed queries and keys, so they use the fused attention and its caches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attend/nn/fixed_table.h"
#include "attend/nn/parameter.h"
#include "attend/ops/attention.h"

namespace attend::nn {

enum class Score : std::uint8_t { scaled_dot, dot, general, additive, cosine };

std::string_view name_of(Score score);
// Throws Error naming what (a path) and the scores that there are.
Score score_named(std::string_view name, std::string_view what);

class AttentionScore {
 public:
  AttentionScore(Score kind, std::int64_t width, std::int64_t heads);
  Score kind() const { return kind_; }
  // True if queries and keys are compared as they were projected.
  bool compares_projections() const { return kind_ != Score::general && kind_ != Score::cosine; }
  // The factor of q·k; 0 means 1 / √D, as in ops::AttentionOptions.
  float scale() const { return kind_ == Score::scaled_dot ? 0.0f : kind_ == Score::cosine ? kSharpest : 1.0f; }

  // Queries and keys [.., C] as the product compares them. A cache keeps such keys.
  Tensor query(const Tensor& q) const;
  Tensor key(const Tensor& k) const;
  // ops::attention() with this score, of what query() and key() returned.
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, ops::AttentionOptions options) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    if (kind_ == Score::general) v("score_weight", general_);
    if (kind_ == Score::additive) v("score_weight", additive_);
    if (kind_ == Score::cosine) v("score_scale", sharpness_);
  }

 private:
  static constexpr float kSharpest = 10;  // a cosine is at most 1, and softmax of such scores would be nearly flat
  Tensor unit(const Tensor& x) const;
  Tensor additive_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                            const ops::AttentionOptions& options) const;

  Score kind_;
  std::int64_t heads_, head_width_;
  Parameter general_;                                    // [H, D, D]
  Parameter additive_;                                   // [H, D]
  Parameter sharpness_;                                  // [H, 1]
  FixedTable<std::int32_t> each_head_, head_of_column_;  // [H] and [H·D]
  FixedTable<float> ones_, zeros_;                       // [2·D]
};

}  // namespace attend::nn
