// Multi-head attention (Vaswani et al. 2017, section 3.2.2), from a sequence to itself and from one to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "attend/nn/kv_cache.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameter.h"
#include "attend/ops/attention.h"
#include "attend/ops/layout.h"

namespace attend::nn {

struct AttentionConfig {
  std::int64_t width, heads;
  float dropout = 0;
  std::string label = {};                // under which the probe sees its weights
  LinearConfig input = {}, output = {};  // the projections before and after (SelfAttention)
};

// Each position of x reads from the positions of x that mask allows. One product makes queries, keys and values.
class SelfAttention {
 public:
  explicit SelfAttention(AttentionConfig config)
      : config_(std::move(config)),
        weight_{config_.input.input_major ? Shape{config_.width, 3 * config_.width}
                                          : Shape{3 * config_.width, config_.width},
                config_.input.init.value_or(Init::xavier(config_.width, config_.width)), config_.input.role()},
        bias_{{3 * config_.width}, {}},
        output_(config_.width, config_.width, config_.output) {}

  Tensor operator()(const Tensor& x, const AttentionMask& mask) const {
    auto [q, k, v] = ops::split<3>(project(x));  // [B, T, C] each, windows of one tensor
    return output_(ops::attention(q, k, v, options(mask)));
  }
  // One more position, x [B, 1, C]: it takes its place in the cache and reads all of it.
  Tensor step(const Tensor& x, const KvCache& cache, const CachePlaces& places) const {
    const Tensor all = project(x).flat_rows();  // [B, 3·C]
    cache.put(all.columns(config_.width, 2 * config_.width), places.slots);
    return output_(read(all.columns(0, config_.width).reshape(x.shape()), cache, places));
  }
  // The same as a whole pre-norm sublayer: x + step(norm(x)).
  Tensor step(const LayerNorm& norm, const Tensor& x, const KvCache& cache, const CachePlaces& places) const {
    const Tensor q =
        ops::norm_linear(x, norm.weights(), weight_, bias_,
                         {.input_major = config_.input.input_major, .cache = cache.positions(), .slots = places.slots});
    return output_.added_to(x, read(q, cache, places));
  }
  // The beginning of sequences at once, x [B, T, C], into an empty cache of B rows or B groups of equal ones.
  Tensor start(const Tensor& x, KvCache& cache) const {
    const Tensor all = project(x);  // [B, T, 3·C]
    cache.append_sequences(all.columns(config_.width, 2 * config_.width));
    auto [q, k, v] = ops::split<3>(all);
    return output_(ops::attention(q, k, v, options({.causal = true})));
  }
  // The same with a slot (i32) for each position of x [.., C], packed or not: sequences go to rows of their own.
  Tensor start(const Tensor& x, const AttentionMask& mask, const KvCache& cache, const Tensor& slots) const {
    const Tensor all = project(x);  // [.., 3·C]
    cache.put(all.flat_rows().columns(config_.width, 2 * config_.width), slots);
    auto [q, k, v] = ops::split<3>(all);
    return output_(ops::attention(q, k, v, options(mask)));
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("in_proj_weight", weight_), v("in_proj_bias", bias_), v("out_proj", output_);
  }
  // The same under other names: "INPUT.weight", "INPUT.bias" and "OUTPUT.*".
  template <class Visitor>
  void visit(Visitor&& v, const std::string& input, std::string_view output) {
    v(input + ".weight", weight_), v(input + ".bias", bias_), v(output, output_);
  }

 private:
  Tensor project(const Tensor& x) const {
    return ops::linear(x, weight_, bias_, {.input_major = config_.input.input_major});
  }
  Tensor read(const Tensor& q, const KvCache& cache, const CachePlaces& places) const {
    return ops::attention(q, cache.keys(), cache.values(), options({.key_lengths = places.lengths}));
  }
  ops::AttentionOptions options(const AttentionMask& mask) const {
    return {.heads = config_.heads, .mask = mask, .dropout = config_.dropout, .label = config_.label};
  }

  AttentionConfig config_;
  Parameter weight_, bias_;
  Linear output_;
};

// Each position of x reads from the positions of memory that mask allows: the decoder looking at the encoder.
class CrossAttention {
 public:
  explicit CrossAttention(AttentionConfig config)
      : config_(std::move(config)),
        query_weight_{{config_.width, config_.width}, Init::xavier(config_.width, config_.width), Role::weight},
        query_bias_{{config_.width}, {}},
        memory_weight_{{2 * config_.width, config_.width}, Init::xavier(config_.width, config_.width), Role::weight},
        memory_bias_{{2 * config_.width}, {}},
        output_(config_.width, config_.width) {}

  Tensor operator()(const Tensor& x, const Tensor& memory, const AttentionMask& mask) const {
    return read(x, keys_values(memory), mask);
  }
  // The two halves of it: what is computed once a memory, [B, S, 2·C], and what is read from it at every step.
  Tensor keys_values(const Tensor& memory) const { return ops::linear(memory, memory_weight_, memory_bias_); }
  Tensor read(const Tensor& x, const Tensor& keys_values, const AttentionMask& mask) const {
    const Tensor q = ops::linear(x, query_weight_, query_bias_);  // [B, T, C]
    const auto [k, v] = ops::split<2>(keys_values);               // [B, S, C] each
    return output_(ops::attention(
        q, k, v, {.heads = config_.heads, .mask = mask, .dropout = config_.dropout, .label = config_.label}));
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    const std::int64_t width = config_.width, rows = 3 * width;
    v("in_proj_weight", FileRows{query_weight_, 0, rows}), v("in_proj_bias", FileRows{query_bias_, 0, rows});
    v("in_proj_weight", FileRows{memory_weight_, width, rows}), v("in_proj_bias", FileRows{memory_bias_, width, rows});
    v("out_proj", output_);
  }

 private:
  AttentionConfig config_;
  Parameter query_weight_, query_bias_, memory_weight_, memory_bias_;
  Linear output_;
};

}  // namespace attend::nn
