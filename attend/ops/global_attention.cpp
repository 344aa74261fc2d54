// Windowed attention with global positions: one attention over the window, one for the global queries, then a merge.
#include "attend/ops/global_attention.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/pass.h"

namespace attend::ops {

namespace {

Tensor rows_of(const Tensor& x, const Tensor& rows) { return gather(contiguous(x.flat_rows()), rows); }

void check_layout(const Tensor& q, const Tensor& k, const AttentionMask& mask, const GlobalPositions& globals) {
  check(mask.causal == globals.causal, "global_attention: attention is {}causal, and the global positions were made {}",
        mask.causal ? "" : "not ", globals.causal ? "for such" : "for what is not");
  check(!mask.bias.defined() && !mask.seen_from.defined() && k.rank() < 4,
        "global_attention: there is no bias, no seen_from and no cache of keys by heads");
  const std::int64_t batch = mask.query_offsets.defined() ? mask.query_offsets.size() - 1 : q.dim(0);
  check(globals.query_offsets.size() == batch + 1 && globals.merged.size() == q.rows(),
        "global_attention: {} sequences in {} rows, but the global positions were made for {} in {}", batch, q.rows(),
        globals.query_offsets.size() - 1, globals.merged.size());
}

// What every query reads inside its window and from the global keys, [rows, C].
Tensor read_band(const Tensor& q, const Tensor& k, const Tensor& v, AttentionOptions options,
                 const GlobalPositions& globals) {
  AttentionWindow window = options.mask.window;
  window.globals = globals.first > 0 ? globals.first : globals.front;
  // If the sets are the first positions, the kernels handle them without copies.
  if (globals.first > 0) {
    options.mask.window = window;
    return attention(q, k, v, options).flat_rows();
  }
  options.mask = {.causal = globals.causal,
                  .query_offsets = globals.query_offsets,
                  .key_offsets = globals.key_offsets,
                  .max_queries = globals.longest_queries,
                  .max_keys = globals.longest_keys,
                  .window = window,
                  .seen_from = globals.seen_from};
  return attention(q.flat_rows(), rows_of(k, globals.key_rows), rows_of(v, globals.key_rows), options);
}

// What the global queries read from all keys, [number of marked_rows, C].
Tensor read_all(const GlobalProjections& by, AttentionOptions options, const GlobalPositions& globals) {
  options.mask = {.key_lengths = options.mask.key_lengths,
                  .query_offsets = globals.marked_offsets,
                  .key_offsets = globals.whole_offsets,
                  .max_queries = globals.front,
                  .max_keys = globals.longest_whole,
                  .seen_from = globals.marked_from};
  return attention(rows_of(by.q, globals.marked_rows), by.k.flat_rows(), by.v.flat_rows(), options);
}

// Collects the weights of all queries in the order of k for a probe. It runs on the host, because only inspection needs
// it.
class ShownWeights {
 public:
  ShownWeights(const Tensor& band, const GlobalPositions& globals)
      : heads_(band.dim(1)),
        queries_(globals.longest_queries),
        keys_(globals.longest_whole),
        query_offsets_(download_ints(globals.query_offsets)),
        whole_offsets_(download_ints(globals.whole_offsets)),
        values_(static_cast<std::size_t>(band.dim(0) * heads_ * queries_ * keys_)) {}

  // band is [B, H, T, front + S] with copied keys, or [B, H, T, S].
  void add_band(const Tensor& band, const GlobalPositions& globals, bool copied) {
    std::vector<std::int32_t> rows, from;
    if (copied) rows = download_ints(globals.key_rows), from = download_ints(globals.key_offsets);
    each(band, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s, float weight) {
      const auto at = static_cast<std::size_t>(b);
      value(b, h, t, copied ? rows[static_cast<std::size_t>(from[at] + s)] - whole_offsets_[at] : s) += weight;
    });
  }
  // marked [B, H, global queries, S] replaces the weights of these queries.
  void put_marked(const Tensor& marked, const GlobalPositions& globals) {
    const std::vector<std::int32_t> rows = download_ints(globals.marked_rows),
                                    from = download_ints(globals.marked_offsets);
    const auto query = [&](std::int64_t b, std::int64_t j) {
      const auto at = static_cast<std::size_t>(b);
      return rows[static_cast<std::size_t>(from[at] + j)] - query_offsets_[at];
    };
    for (std::int64_t b = 0; b < marked.dim(0); ++b)
      for (std::int64_t j = 0; j < from[static_cast<std::size_t>(b) + 1] - from[static_cast<std::size_t>(b)]; ++j)
        for (std::int64_t h = 0; h < heads_; ++h) std::fill_n(&value(b, h, query(b, j), 0), keys_, 0.0f);
    each(marked, [&](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t s, float weight) {
      value(b, h, query(b, j), s) = weight;
    });
  }
  Tensor tensor(const Tensor& beside) const {
    Tensor made = like(beside, {beside.dim(0), heads_, queries_, keys_}, DType::f32);
    upload(made, values_);
    return made;
  }

 private:
  float& value(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t s) {
    return values_[static_cast<std::size_t>(((b * heads_ + h) * queries_ + t) * keys_ + s)];
  }
  // Calls fn for every weight that is not 0. Places without a sequence have weight 0.
  template <class Fn>
  static void each(const Tensor& weights, const Fn& fn) {
    const std::vector<float> all = download(weights);
    const std::int64_t H = weights.dim(1), T = weights.dim(2), S = weights.dim(3);
    for (std::int64_t i = 0; i < weights.size(); ++i)
      if (const float weight = all[static_cast<std::size_t>(i)]; weight != 0)
        fn(i / S / T / H, i / S / T % H, i / S % T, i % S, weight);
  }

  std::int64_t heads_, queries_, keys_;
  std::vector<std::int32_t> query_offsets_, whole_offsets_;
  std::vector<float> values_;
};

}  // namespace

Tensor global_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                        const GlobalPositions& globals, const GlobalProjections& own) {
  check(q.defined() && k.defined() && v.defined(), "global_attention: q, k or v is missing");
  AttentionOptions read = options;
  read.mask.window.globals = 0;
  const bool bars = read.mask.windowed();
  if (globals.front == 0 || (!bars && !own.q.defined())) return attention(q, k, v, read);
  check_layout(q, k, options.mask, globals);
  if (bars && globals.first > 0 && !own.q.defined()) {
    read.mask.window.globals = globals.first;
    return attention(q, k, v, read);
  }
  Tensor band, marked;  // weights for a probe, if there is one
  read.weights = &band;
  const Tensor mixed = bars ? read_band(q, k, v, read, globals) : attention(q, k, v, read).flat_rows();
  read.weights = &marked;
  const Tensor seen = read_all(own.q.defined() ? own : GlobalProjections{q, k, v}, read, globals);
  if (band.defined()) {
    ShownWeights shown(band, globals);
    shown.add_band(band, globals, bars && globals.first == 0), shown.put_marked(marked, globals);
    const Tensor weights = shown.tensor(band);
    if (options.weights)
      *options.weights = weights;
    else
      mixed.pass()->probe()->attention(options.label, weights);
  }
  // Rows of global queries come from the second attention, all others from the first.
  return gather(concat({mixed, seen}, 0), globals.merged).reshape(q.shape());
}

}  // namespace attend::ops
