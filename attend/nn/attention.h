// Multi-head attention (Vaswani et al. 2017, section 3.2.2), from a sequence to itself and from one to another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/nn/kv_cache.h"
#include "attend/nn/layers.h"
#include "attend/nn/narrowed.h"
#include "attend/nn/parameter.h"
#include "attend/nn/parts.h"
#include "attend/ops/attention.h"
#include "attend/ops/global_attention.h"
#include "attend/ops/layout.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

struct AttentionConfig {
  std::int64_t width, heads;
  float dropout = 0;
  std::string label = {};                // under which the probe sees its weights
  AttentionWindow window = {};           // how far each position looks, in self-attention
  LinearConfig input = {}, output = {};  // the projections before and after
  // In files: INPUTweight, INPUTbias, OUTPUT.weight, OUTPUT.bias.
  std::string input_name = "in_proj_", output_name = "out_proj";
  // Of cross-attention's keys and values, where they are tensors of their own in files, as the queries then are;
  // without, all three are one under input_name.
  std::string memory_name = {};
  // Of self-attention whose global positions have queries, keys and values of their own (Beltagy et al. 2020, section
  // 3.1): the name of that projection in files.
  std::string global_name = {};
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
        global_weight_{weight_},
        global_bias_{bias_},
        output_(config_.width, config_.width, config_.output) {}
  const AttentionConfig& config() const { return config_; }

  // x [B, T, C] or packed [rows, C]. With a cache, keys and values are kept; where x goes on from those that are there,
  // x [B, 1, C] reads all of its row, and mask says nothing. globals: which positions are global, instead of the first
  // that the window says; without a cache.
  Branch operator()(const SublayerInput& x, const AttentionMask& mask, const LayerCache& kept = {},
                    const ops::GlobalPositions* globals = nullptr) const {
    if (kept.goes_on()) {
      const Tensor q = query_of_newest(x, kept);
      const AttentionMask row{.key_lengths = kept.places.lengths};  // of a window, the cache has no more than that
      return output_.back(x, ops::attention(q, kept.cache->keys(), kept.cache->values(), options(row)));
    }
    const Tensor read = x.value(), all = project(read);  // [.., 3·C]
    if (kept.cache) kept.cache->write(all.columns(config_.width, 2 * config_.width), kept.places);
    const auto [q, k, v] = ops::split<3>(all);  // [.., C] each, windows of one tensor
    AttentionMask within = mask;
    within.window = narrowed(config_.window, read.pass() ? read.pass()->attention_window() : -1, mask.causal);
    Tensor mixed;
    if (globals)
      mixed = ops::global_attention(q, k, v, options(within), *globals, global_reading(read));
    else if (mixed = ops::attention(q, k, v, options(within)); has_own_globals() && config_.window.globals > 0)
      mixed = with_first(read, mixed, mask);
    Branch branch = output_.back(x, mixed);
    show(config_.label, {{"read", read}, {"q", q}, {"k", k}, {"v", v}, {"mixed", mixed}, {"out", branch.value}});
    return branch;
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v(config_.input_name + "weight", weight_), v(config_.input_name + "bias", bias_);
    if (!config_.global_name.empty())
      v(config_.global_name + "weight", global_weight_), v(config_.global_name + "bias", global_bias_);
    v(config_.output_name, output_);
  }

 private:
  Tensor project(const Tensor& x) const {
    return ops::linear(x, weight_, bias_, {.input_major = config_.input.input_major});
  }
  bool has_own_globals() const { return !config_.global_name.empty(); }
  // What the global positions read by, where they have a projection of their own.
  ops::GlobalProjections global_reading(const Tensor& x) const {
    if (!has_own_globals()) return {};
    const auto [q, k, v] =
        ops::split<3>(ops::linear(x, global_weight_, global_bias_, {.input_major = config_.input.input_major}));
    return {q, k, v};
  }
  // mixed [B, T, C], with what the first positions read by their own projection in place of what they have there.
  Tensor with_first(const Tensor& x, const Tensor& mixed, const AttentionMask& mask) const {
    check(!mask.query_offsets.defined(), "{}: packed texts need their global positions (ops::GlobalPositions)",
          config_.label);
    const ops::GlobalProjections own = global_reading(x);
    ops::AttentionOptions all = options(mask);
    const std::string label = config_.label + ".global";
    all.label = label;
    const std::int64_t T = x.dim(1), G = std::min(config_.window.globals, T);
    const Tensor seen = ops::attention(ops::slice(own.q, 1, 0, G), own.k, own.v, all);
    return G == T ? seen : ops::concat({seen, ops::slice(mixed, 1, G, T - G)}, 1);
  }
  // Its keys and values take their places in the cache.
  Tensor query_of_newest(const SublayerInput& x, const LayerCache& kept) const {
    const Tensor& slots = kept.cache->slots_in(kept.places);
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
};

// What cross-attention reads: the states of an encoder, or of anything else that has states.
struct Memory {
  Tensor states = {};       // [B, S, C], or packed [rows, C]
  Tensor keys_values = {};  // or what CrossAttention::keys_values() made of them before
  AttentionMask mask = {};
};

// Each position of x reads from the positions of a memory that its mask allows: the decoder looking at the encoder.
class CrossAttention {
 public:
  explicit CrossAttention(AttentionConfig config)
      : config_(std::move(config)),
        query_weight_(weight(1)),
        query_bias_{{config_.width}, {}},
        memory_weight_(weight(2)),
        memory_bias_{{2 * config_.width}, {}},
        output_(config_.width, config_.width, config_.output) {}
  const AttentionConfig& config() const { return config_; }

  // x [B, T, C] or packed [rows, C]. Rows of x [R, 1, C] come in groups that share a memory: row r reads memory
  // r / (R / B), and the rows of a group read together, as if they were positions.
  Branch operator()(const SublayerInput& x, const Memory& memory) const {
    const auto [k, v] = ops::split<2>(memory.keys_values.defined() ? memory.keys_values : keys_values(memory.states));
    const Tensor read = x.value(), q = project(read, query_weight_, query_bias_);  // [B, T, C]
    const bool grouped = q.rank() == 3 && q.dim(0) != k.dim(0);
    const Tensor mixed = ops::attention(
        grouped ? q.reshape({k.dim(0), -1, q.width()}) : q, k, v,
        {.heads = config_.heads, .mask = memory.mask, .dropout = config_.dropout, .label = config_.label});
    Branch branch = output_.back(x, mixed.reshape(q.shape()));
    show(config_.label, {{"read", read}, {"q", q}, {"k", k}, {"v", v}, {"mixed", mixed}, {"out", branch.value}});
    return branch;
  }
  // The half of it that is the same at every step, [B, S, 2·C].
  Tensor keys_values(const Tensor& states) const { return project(states, memory_weight_, memory_bias_); }
  template <class Visitor>
  void visit(Visitor&& v) {
    if (!config_.memory_name.empty()) {
      v(config_.memory_name + "weight", memory_weight_), v(config_.memory_name + "bias", memory_bias_);
      v(config_.input_name + "weight", query_weight_), v(config_.input_name + "bias", query_bias_);
      v(config_.output_name, output_);
      return;
    }
    const std::int64_t width = config_.width, rows = 3 * width;
    const std::string weight = config_.input_name + "weight", bias = config_.input_name + "bias";
    v(weight, FileRows{query_weight_, 0, rows}), v(bias, FileRows{query_bias_, 0, rows});
    v(weight, FileRows{memory_weight_, width, rows}), v(bias, FileRows{memory_bias_, width, rows});
    v(config_.output_name, output_);
  }

 private:
  // Of so many projections of the width side by side.
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
};

}  // namespace attend::nn
