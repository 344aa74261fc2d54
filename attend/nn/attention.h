// Multi-head attention (Vaswani et al. 2017, section 3.2.2), from a sequence to itself and from one to another.
//   self-attention:   x [B, T, C] -> q, k, v [B, T, C] each -> H heads of width D = C / H -> [B, T, C]
//   cross-attention:  x [B, T, C], memory [B, S, C] -> q [B, T, C], k, v [B, S, C] -> [B, T, C]
// Heads lie side by side in the last axis, so nothing is permuted. Packed rows are [rows, C].
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/nn/attention_score.h"
#include "attend/nn/kv_cache.h"
#include "attend/nn/layers.h"
#include "attend/nn/narrowed.h"
#include "attend/nn/parameter.h"
#include "attend/nn/parts.h"
#include "attend/nn/relative_positions.h"
#include "attend/ops/attention.h"
#include "attend/ops/global_attention.h"
#include "attend/ops/layout.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

struct AttentionConfig {
  std::int64_t width, heads;
  float dropout = 0;
  std::string label = {};                // the label under which a probe sees the weights
  AttentionWindow window = {};           // limits how far self-attention reaches
  LinearConfig input = {}, output = {};  // the projections before and after attention
  // Parameter names in files: INPUTweight, INPUTbias, OUTPUT.weight, OUTPUT.bias.
  std::string input_name = "in_proj_", output_name = "out_proj";
  // Name of cross-attention's keys and values in files that store them apart from the queries. Otherwise all three are
  // one tensor under input_name.
  std::string memory_name = {};
  // Name in files of a second projection for global positions (Beltagy et al. 2020, section 3.1), if the model has one.
  std::string global_name = {};
  Score score = Score::scaled_dot;  // how a query is compared with a key
};

// Each position of x attends to the positions of x that mask allows. One product makes queries, keys and values.
class SelfAttention {
 public:
  explicit SelfAttention(AttentionConfig config)
      : config_(std::move(config)),
        weight_{config_.input.input_major ? Shape{config_.width, 3 * config_.width}
                                          : Shape{3 * config_.width, config_.width},
                config_.input.init.value_or(Init::xavier(config_.width, config_.width)), config_.input.role()},
        bias_{{3 * config_.width}, {}},
        global_weight_{weight_},
        global_bias_{bias_},
        output_(config_.width, config_.width, config_.output),
        score_(config_.score, config_.width, config_.heads) {}
  const AttentionConfig& config() const { return config_; }
  ops::Projection input() const { return {weight_, bias_}; }
  ops::Projection output() const { return output_.weights(); }

  // x is [B, T, C] or packed [rows, C]. A cache keeps keys and values. When decoding continues from a cache, x is [B,
  // 1, C], attends to all positions of its row, and mask is not used but for its bias. rotation turns queries and keys
  // by their positions. globals names the global positions; otherwise they are the first ones, as the window says. A
  // cache excludes globals.
  Branch operator()(const SublayerInput& x, const AttentionMask& mask, const LayerCache& kept = {},
                    const ops::GlobalPositions* globals = nullptr, const Rotation& rotation = {}) const {
    if (kept.goes_on()) {
      const Tensor q = query_of_newest(x, kept, rotation);  // [B, 1, C]
      return output_.back(x, attend_cache(q, kept, mask.bias));
    }
    const Tensor read = x.value(), all = project(read);  // [.., 3·C]
    auto [q, k, v] = ops::split<3>(all);                 // [.., C] each, windows of one tensor
    compare(q, k, rotation);
    // The last 2·C columns are keys and values.
    if (kept.cache)
      kept.cache->write(
          as_projected(rotation) ? all.columns(config_.width, 2 * config_.width) : ops::concat({k, v}, -1),
          kept.places);
    // A pass may narrow the window further, for inspection.
    AttentionMask within = mask;
    within.window = narrowed(config_.window, read.pass() ? read.pass()->attention_window() : -1, mask.causal);
    Tensor mixed;
    if (globals)
      mixed = ops::global_attention(q, k, v, options(within), *globals, global_reading(read));
    else if (mixed = score_.attend(q, k, v, options(within)); has_own_globals() && config_.window.globals > 0)
      mixed = with_first(read, mixed, mask);
    Branch branch = output_.back(x, mixed);  // [.., C]
    show(config_.label, {{"read", read}, {"q", q}, {"k", k}, {"v", v}, {"mixed", mixed}, {"out", branch.value}});
    return branch;
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v(config_.input_name + "weight", weight_);
    if (config_.input.bias) v(config_.input_name + "bias", bias_);
    if (!config_.global_name.empty())
      v(config_.global_name + "weight", global_weight_), v(config_.global_name + "bias", global_bias_);
    v(config_.output_name, output_), v("", score_);
  }

 private:
  // True if queries and keys enter the product as they were projected.
  bool as_projected(const Rotation& rotation) const { return !rotation.defined() && score_.compares_projections(); }
  // Queries and keys become what the score compares: turned by their positions, then changed by the score.
  void compare(Tensor& q, Tensor& k, const Rotation& rotation) const {
    if (rotation.defined()) q = rotation(q, config_.heads), k = rotation(k, config_.heads);
    q = score_.query(q), k = score_.key(k);
  }
  Tensor project(const Tensor& x) const {
    return ops::linear(x, weight_, bias_, {.input_major = config_.input.input_major});
  }
  bool has_own_globals() const { return !config_.global_name.empty(); }
  // Queries, keys and values of the second projection, [.., C] each; undefined if there is none.
  ops::GlobalProjections global_reading(const Tensor& x) const {
    if (!has_own_globals()) return {};
    const auto [q, k, v] =
        ops::split<3>(ops::linear(x, global_weight_, global_bias_, {.input_major = config_.input.input_major}));
    return {q, k, v};
  }
  // Replaces the first G positions of mixed [B, T, C] by what they read with the second projection.
  Tensor with_first(const Tensor& x, const Tensor& mixed, const AttentionMask& mask) const {
    check(!mask.query_offsets.defined(), "{}: packed texts need their global positions (ops::GlobalPositions)",
          config_.label);
    const ops::GlobalProjections own = global_reading(x);
    ops::AttentionOptions all = options(mask);
    const std::string label = config_.label + ".global";
    all.label = label;
    const std::int64_t T = x.dim(1), G = std::min(config_.window.globals, T);
    const Tensor seen = ops::attention(ops::slice(own.q, 1, 0, G), own.k, own.v, all);  // [B, G, C]
    return G == T ? seen : ops::concat({seen, ops::slice(mixed, 1, G, T - G)}, 1);
  }
  // Queries [B, 1, C] read their rows of the cache, or all of them the row of one text. A cache for a window holds only
  // that window.
  Tensor attend_cache(const Tensor& q, const LayerCache& kept, const Tensor& bias) const {
    AttentionMask row{.key_lengths = kept.places.lengths, .bias = bias, .key_rows = kept.places.rows};
    const Tensor keys = kept.cache->keys(), values = kept.cache->values();
    if (!kept.places.query_offsets.defined()) return score_.attend(q, keys, values, options(row));
    row.query_offsets = kept.places.query_offsets, row.key_offsets = kept.places.key_offsets;
    row.max_queries = 1, row.max_keys = kept.cache->capacity();
    return score_.attend(q.flat_rows(), keys.flat_rows(), values.flat_rows(), options(row)).reshape(q.shape());
  }
  // The query of the newest position, [B, 1, C]. Its key and value go into the cache.
  Tensor query_of_newest(const SublayerInput& x, const LayerCache& kept, const Rotation& rotation) const {
    const Tensor& slots = kept.cache->slots_in(kept.places);
    if (!as_projected(rotation)) {
      auto [q, k, v] = ops::split<3>(project(x.value()));  // [B, 1, C] each
      compare(q, k, rotation);
      kept.cache->put(ops::concat({k, v}, -1).flat_rows(), slots);
      return q;
    }
    if (x.norm)
      return ops::norm_linear(
          x.x, x.norm->weights(), weight_, bias_,
          {.input_major = config_.input.input_major, .cache = kept.cache->positions(), .slots = slots});
    const Tensor all = project(x.x).flat_rows();  // [B, 3·C]
    kept.cache->put(all.columns(config_.width, 2 * config_.width), slots);
    return all.columns(0, config_.width).reshape(x.x.shape());
  }
  ops::AttentionOptions options(const AttentionMask& mask) const {
    return {.heads = config_.heads, .mask = mask, .dropout = config_.dropout, .label = config_.label};
  }

  AttentionConfig config_;
  Parameter weight_, bias_, global_weight_, global_bias_;
  Linear output_;
  AttentionScore score_;
};

// The memory that cross-attention reads: states of an encoder, or of any other model.
struct Memory {
  Tensor states = {};       // [B, S, C], or packed [rows, C]
  Tensor keys_values = {};  // [B, S, 2·C]: or their projection by CrossAttention::keys_values()
  AttentionMask mask = {};
};

// Each position of x attends to the positions of a memory that its mask allows: the decoder reads the encoder.
class CrossAttention {
 public:
  explicit CrossAttention(AttentionConfig config)
      : config_(std::move(config)),
        query_weight_(weight(1)),
        query_bias_{{config_.width}, {}},
        memory_weight_(weight(2)),
        memory_bias_{{2 * config_.width}, {}},
        output_(config_.width, config_.width, config_.output),
        score_(config_.score, config_.width, config_.heads) {}
  const AttentionConfig& config() const { return config_; }
  ops::Projection query() const { return {query_weight_, query_bias_}; }
  ops::Projection output() const { return output_.weights(); }

  // x is [B, T, C] or packed [rows, C]. In decoding, rows of x [R, 1, C] come in groups that share a memory: row r
  // reads memory r / (R / B). The rows of a group are then treated as positions of one sequence.
  Branch operator()(const SublayerInput& x, const Memory& memory) const {
    // Shape [B, S, C] each.
    const auto [k, v] = ops::split<2>(memory.keys_values.defined() ? memory.keys_values : keys_values(memory.states));
    const Tensor read = x.value(), q = score_.query(project(read, query_weight_, query_bias_));  // [B, T, C]
    const bool grouped = q.rank() == 3 && q.dim(0) != k.dim(0);
    const Tensor mixed = score_.attend(
        grouped ? q.reshape({k.dim(0), -1, q.width()}) : q, k, v,
        {.heads = config_.heads, .mask = memory.mask, .dropout = config_.dropout, .label = config_.label});
    Branch branch = output_.back(x, mixed.reshape(q.shape()));  // [B, T, C]
    show(config_.label, {{"read", read}, {"q", q}, {"k", k}, {"v", v}, {"mixed", mixed}, {"out", branch.value}});
    return branch;
  }
  // Keys, as the score compares them, and values, [B, S, 2·C]. They do not depend on x, so decoding computes them once.
  Tensor keys_values(const Tensor& states) const {
    const Tensor both = project(states, memory_weight_, memory_bias_);
    if (score_.compares_projections()) return both;
    const auto [k, v] = ops::split<2>(both);
    return ops::concat({score_.key(k), v}, -1);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    if (!config_.memory_name.empty()) {
      v(config_.memory_name + "weight", memory_weight_), v(config_.memory_name + "bias", memory_bias_);
      v(config_.input_name + "weight", query_weight_), v(config_.input_name + "bias", query_bias_);
      v(config_.output_name, output_), v("", score_);
      return;
    }
    const std::int64_t width = config_.width, rows = 3 * width;
    const std::string weight = config_.input_name + "weight", bias = config_.input_name + "bias";
    const bool biased = config_.input.bias;
    v(weight, FileRows{query_weight_, 0, rows});
    if (biased) v(bias, FileRows{query_bias_, 0, rows});
    v(weight, FileRows{memory_weight_, width, rows});
    if (biased) v(bias, FileRows{memory_bias_, width, rows});
    v(config_.output_name, output_), v("", score_);
  }

 private:
  // The weight of `count` projections side by side: [count·C, C], or [C, count·C] if input-major.
  Parameter weight(std::int64_t count) const {
    const std::int64_t width = config_.width;
    return {config_.input.input_major ? Shape{width, count * width} : Shape{count * width, width},
            config_.input.init.value_or(Init::xavier(width, width)), config_.input.role()};
  }
  Tensor project(const Tensor& x, const Parameter& weight, const Parameter& bias) const {
    return ops::linear(x, weight, bias, {.input_major = config_.input.input_major});
  }

  AttentionConfig config_;
  Parameter query_weight_, query_bias_, memory_weight_, memory_bias_;
  Linear output_;
  AttentionScore score_;
};

}  // namespace attend::nn
