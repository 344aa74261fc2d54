// A call of attention taken apart: for each sequence b and head h, where its rows lie and what it may see.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attend/cpu/parallel.h"

namespace attend::cpu {

class AttentionHeads {
 public:
  explicit AttentionHeads(const Attention& args)
      : q_(args.q),
        k_(args.k),
        v_(args.v),
        bias_(args.mask.bias),
        heads_(args.heads),
        bias_groups_(args.mask.bias.defined() ? args.mask.bias.dim(0) : 1),
        scale_(args.scale),
        causal_(args.mask.causal),
        windowed_(args.mask.windowed()),
        window_(args.mask.window),
        packed_(args.mask.query_offsets.defined()),
        by_heads_(args.k.rank() == 4),
        one_cache_(by_heads_ && args.k.dim(0) == 1),
        width_(args.q.width() / std::max<std::int64_t>(1, args.heads)) {
    sequences_ = packed_ ? args.mask.query_offsets.size() - 1 : args.q.dim(0);
    most_queries_ = packed_ ? args.mask.max_queries : args.q.dim(1);
    most_keys_ = packed_ ? args.mask.max_keys : args.k.dim(by_heads_ ? 2 : 1);
    if (args.mask.key_lengths.defined()) lengths_ = args.mask.key_lengths.data<std::int32_t>();
    if (args.mask.seen_from.defined()) seen_from_ = args.mask.seen_from.data<std::int32_t>();
    if (packed_) {
      query_offsets_ = args.mask.query_offsets.data<std::int32_t>();
      key_offsets_ = args.mask.key_offsets.data<std::int32_t>();
    }
    const auto* q = static_cast<const std::byte*>(args.q.raw());
    const auto* k = static_cast<const std::byte*>(args.k.raw());
    padded_ = lengths_ && !packed_ && !by_heads_ && q_.stride == k_.stride && q < k && k < q_.at(1);
    rule_ = rule_of(args.dropout);
  }

  // Of a padded sequence that reads itself, the queries that are no padding: as many as it has keys. Queries and keys
  // of self-attention lie in the same rows of memory.
  std::int64_t own_queries(const AttentionHead& head) const {
    return padded_ ? std::min(head.queries, head.keys) : head.queries;
  }
  std::int64_t sequences() const { return sequences_; }
  std::int64_t heads() const { return heads_; }
  std::int64_t width() const { return width_; }  // D
  std::int64_t most_queries() const { return most_queries_; }
  std::int64_t most_keys() const { return most_keys_; }
  // Of the keys, those that so many queries one after another look through.
  std::int64_t keys_of_a_stretch(std::int64_t queries) const {
    if (!windowed_ || window_.before < 0 || (!causal_ && window_.after < 0)) return most_keys_;
    const std::int64_t band = window_.before + (causal_ ? 0 : window_.after) + window_.globals + queries;
    return std::min(most_keys_, band);
  }
  bool packed() const { return packed_; }
  bool windowed() const { return windowed_; }
  // Whether more hides keys than their number and causality.
  bool bars() const { return windowed_ || seen_from_; }
  bool drops() const { return rule_.threshold != 0; }
  // Nothing between a query and the keys but their number.
  bool plain() const { return !bars() && !bias_.data && !drops(); }
  // One query of each sequence on a cache by heads.
  bool steps() const { return by_heads_ && most_queries_ == 1 && !causal_ && plain(); }

  // The rows of sequence b in q, and in k and v; count_keys says how many of the latter it may see.
  std::int64_t first_query(std::int64_t b) const { return packed_ ? query_offsets_[b] : b * most_queries_; }
  std::int64_t count_queries(std::int64_t b) const {
    return packed_ ? query_offsets_[b + 1] - query_offsets_[b] : most_queries_;
  }
  std::int64_t first_key(std::int64_t b) const { return packed_ ? key_offsets_[b] : b * most_keys_; }
  std::int64_t count_keys(std::int64_t b) const {
    const std::int64_t all = packed_ && lengths_ == nullptr ? key_offsets_[b + 1] - key_offsets_[b] : most_keys_;
    return lengths_ ? std::clamp<std::int64_t>(lengths_[b], 0, all) : all;
  }
  // Rows of q that no sequence has: a packed batch may be longer than its sequences.
  std::int64_t queries_used() const { return packed_ ? query_offsets_[sequences_] : sequences_ * most_queries_; }

  // What forward and backward share of head h of sequence b.
  AttentionHead head(std::int64_t b, std::int64_t h) const {
    AttentionHead head;
    head.q = element(q_, first_query(b), h), head.q_stride = q_.stride;
    const std::int64_t row = one_cache_ ? 0 : b;
    head.k = by_heads_ ? k_.at((2 * row * heads_ + h) * most_keys_) : element(k_, first_key(b), h);
    head.v = by_heads_ ? k_.at(((2 * row + 1) * heads_ + h) * most_keys_) : element(v_, first_key(b), h);
    head.k_stride = k_.stride, head.v_stride = v_.stride;
    head.queries = count_queries(b), head.keys = count_keys(b);
    const std::int64_t keys = packed_ ? head.keys : most_keys_;
    head.shift = causal_ ? keys - head.queries : head.keys;
    if (windowed_) head.windowed = true, head.window = {causal_, window_, keys, head.queries, head.keys};
    if (seen_from_) head.seen_from = seen_from_ + first_key(b);
    head.width = width_, head.scale = scale_;
    if (bias_.data) {
      head.bias = at(bias_.data, bias_offset(b, h), bias_.dtype);
      head.bias_bf16 = bias_.dtype == DType::bf16, head.bias_stride = most_keys_;
    }
    head.drop = rule_;
    const std::int64_t stride = (most_keys_ + kDropoutBlock - 1) / kDropoutBlock * kDropoutBlock;
    head.drop_first = static_cast<std::uint64_t>((b * heads_ + h) * most_queries_ * stride);
    head.drop_stride = static_cast<std::uint64_t>(stride);
    return head;
  }

  // Element 0 of head h in a row of a tensor of width H·D, and of lse [rows, H].
  void* element(const View& x, std::int64_t row, std::int64_t h) const { return x.at(row, h * width_); }
  float* lse(const View& lse, std::int64_t b, std::int64_t h) const {
    return static_cast<float*>(lse.data) + first_query(b) * heads_ + h;
  }
  // The first element of bias [G, H, T, S] for this head.
  std::int64_t bias_offset(std::int64_t b, std::int64_t h) const {
    return (b % bias_groups_ * heads_ + h) * most_queries_ * most_keys_;
  }

 private:
  View q_, k_, v_, bias_;
  std::int64_t heads_, bias_groups_;
  float scale_;
  bool causal_, windowed_, padded_ = false;
  AttentionWindow window_;
  bool packed_, by_heads_, one_cache_;
  std::int64_t width_, sequences_ = 0, most_queries_ = 0, most_keys_ = 0;
  const std::int32_t *lengths_ = nullptr, *query_offsets_ = nullptr, *key_offsets_ = nullptr, *seen_from_ = nullptr;
  DropRule rule_;
};

}  // namespace attend::cpu
