// The gradient of attention, one head of one sequence at a time (Dao et al. 2022, algorithm 4): weights are made
// again from the log-sum-exp, block of keys by block of keys; dk and dv of the block stay in cache while the queries
// go by, dq of the whole sequence collects in f32.
//   dv = pᵀ dy    ds = p ∘ (dy vᵀ - δ) with δ = rowsum(dy ∘ y)    dk = dsᵀ q    dq = ds k
// The weights of a query sum to 1, so one vector c may be taken from all values and from y: dy (v - c)ᵀ - rowsum(dy ∘
// (y - c)) is the same. With c the mean of the values the two are small, and little is lost where values are nearly
// equal.
#include "attend/cpu/rows/attention_tile.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

struct Backward {
  alignas(64) float keys_transposed[kAttentionWidth * kKeyBlock];    // [D, keys]
  alignas(64) float values_transposed[kAttentionWidth * kKeyBlock];  // [D, keys]
  alignas(64) float keys[kAttentionWidth * kKeyBlock];               // [keys, D]
  alignas(64) float dk[kAttentionWidth * kKeyBlock];                 // [keys, D]
  alignas(64) float dv[kAttentionWidth * kKeyBlock];
  alignas(64) float weights[kQueryBlock * kKeyBlock];  // scores, then what multiplies the values
  alignas(64) float dscores[kQueryBlock * kKeyBlock];  // dy vᵀ, then the gradient of the scores
  alignas(64) float center[kAttentionWidth];           // the mean of the head's values, or zeros
};

// The whole head's rows in f32, in head.work.
struct Rows {
  float *q, *dy, *dq, *delta, *lse;
};

ATTEND_INLINE Rows rows_in(const AttentionHead& head, std::int64_t padded) {
  const std::int64_t n = (head.queries + 63) / 64 * 64;
  float* work = head.work;
  return {work, work + n * padded, work + 2 * n * padded, work + 3 * n * padded, work + 3 * n * padded + n};
}

// Dropped weights do not sum to 1, so with dropout the values stay as they are.
template <class E>
static void center_values(const AttentionHead& head, float* center) {
  const std::int64_t padded = to_lanes(head.width);
  for (std::int64_t i = 0; i < padded; i += kLanes) store(center + i, Vec{});
  if (head.drop.threshold || head.keys < 1) return;
  for (std::int64_t t = 0; t < head.keys; ++t) {
    const E* v = static_cast<const E*>(head.v) + t * head.v_stride;
    each(head.width, [&](std::int64_t i, auto part) { store(center + i, load(center + i) + load(v + i, part)); });
  }
  const float share = 1 / static_cast<float>(head.keys);
  for (std::int64_t i = 0; i < padded; i += kLanes) store(center + i, load(center + i) * share);
}

template <class E>
static void prepare(const AttentionHead& head, const float* center, const Rows& rows) {
  const std::int64_t padded = to_lanes(head.width);
  gather(static_cast<const E*>(head.q), head.q_stride, head.queries, head.width, head.scale, rows.q);
  gather(static_cast<const E*>(head.dy), head.dy_stride, head.queries, head.width, 1.0f, rows.dy);
  for (std::int64_t t = 0; t < head.queries; ++t) {
    const E* y = static_cast<const E*>(head.y) + t * head.y_stride;
    Vec sum = {};
    each(head.width, [&](std::int64_t i, auto part) {
      sum += load(rows.dy + t * padded + i) * (load(y + i, part) - load(center + i));
    });
    rows.delta[t] = sum_of(sum);
    rows.lse[t] = head.lse[t * head.lse_stride];
    for (std::int64_t i = 0; i < padded; i += kLanes) store(rows.dq + t * padded + i, Vec{});
  }
}

// What turns the exponentials of a query's scores into weights, and δ.
struct RowSums {
  float share = 1, delta = 0;
};

// Of a query whose keys are all in this block, from the numbers themselves. That is what the log-sum-exp and
// rowsum(dy ∘ y) say, but those were rounded elsewhere: with scores of some hundred, what they leave where one key has
// all the weight can be larger than the gradient, and weights that should sum to 1 miss it by 3e-5.
ATTEND_INLINE RowSums row_sums(const AttentionHead& head, float lse, std::int64_t seen, const float* scores,
                               const float* dweights, const std::uint16_t* draws) {
  Vec total = {}, sum = {};
  each(seen, [&](std::int64_t i, auto part) {
    const Vec p = keep(exponential(load(scores + i) - lse), 0.0f, part);
    Vec d = load(dweights + i);
    if (head.drop.threshold) d = dropped(d, head.drop, draws + i);
    total += p, sum += p * d;
  });
  const float share = 1 / sum_of(total);
  return {share, sum_of(sum) * share};
}

// Scores and dy vᵀ of one query become its weights (after dropout) and the gradient of its scores.
ATTEND_INLINE void differentiate(const AttentionHead& head, const Rows& rows, std::int64_t t, std::int64_t first,
                                 std::int64_t seen, std::int64_t columns, float* weights, float* dscores) {
  const float lse = rows.lse[t];
  if (lse == -kInfinity) seen = 0;
  if (head.bias) add_bias(head, t, first, seen, weights);
  bar_keys(head, t, first, seen, weights);
  DropoutDraws<kKeyBlock> random;
  if (head.drop.threshold)
    random.fill(head.drop.key,
                head.drop_first + static_cast<std::uint64_t>(t) * head.drop_stride + static_cast<std::uint64_t>(first),
                seen);
  const std::uint16_t* draws = random.begin();
  const bool whole = head.keys <= kKeyBlock && seen > 0;
  const RowSums sums = whole ? row_sums(head, lse, seen, weights, dscores, draws) : RowSums{.delta = rows.delta[t]};
  const float share = sums.share, delta = sums.delta;
  each(seen, [&](std::int64_t i, auto part) {
    const Vec p = keep(exponential(load(weights + i) - lse) * share, 0.0f, part);
    Vec d = load(dscores + i), kept = p;
    if (head.drop.threshold) d = dropped(d, head.drop, draws + i), kept = dropped(p, head.drop, draws + i);
    store(weights + i, kept);
    store(dscores + i, p * (d - delta));
  });
  for (std::int64_t i = to_lanes(seen); i < columns; i += kLanes) store(weights + i, Vec{}), store(dscores + i, Vec{});
  if (head.dbias) {
    float* out = head.dbias + t * head.bias_stride + first;
    each(seen, [&](std::int64_t i, auto part) { store(out + i, load(out + i, part) + load(dscores + i), part); });
  }
}

// Everything one block of keys has to do with the queries [i, i + m).
static void differentiate_block(const AttentionHead& head, const Rows& rows, Backward& w, std::int64_t i,
                                std::int64_t m, std::int64_t first, std::int64_t count) {
  const std::int64_t padded = to_lanes(head.width), columns = to_lanes(count);
  float *q = rows.q + i * padded, *dy = rows.dy + i * padded, *dq = rows.dq + i * padded;
  product(m, columns, head.width, Left{q, padded, 1}, Right<float>{w.keys_transposed, kKeyBlock},
          Result{w.weights, kKeyBlock, false});
  product(m, columns, head.width, Left{dy, padded, 1}, Right<float>{w.values_transposed, kKeyBlock},
          Result{w.dscores, kKeyBlock, false});
  for (std::int64_t r = 0; r < m; ++r)
    differentiate(head, rows, i + r, first, seen_keys(head, i + r, first, count), columns, w.weights + r * kKeyBlock,
                  w.dscores + r * kKeyBlock);
  if (head.dv.data)
    product(count, padded, m, Left{w.weights, 1, kKeyBlock}, Right<float>{dy, padded}, Result{w.dv, padded, true});
  if (head.dk.data)
    product(count, padded, m, Left{w.dscores, 1, kKeyBlock}, Right<float>{q, padded}, Result{w.dk, padded, true});
  if (head.dq.data)
    product(m, padded, count, Left{w.dscores, kKeyBlock, 1}, Right<float>{w.keys, padded}, Result{dq, padded, true});
}

// All queries that see a key of the block [first, first + count).
static void differentiate_keys(const AttentionHead& head, const Rows& rows, Backward& w, std::int64_t first,
                               std::int64_t count) {
  const auto block = [&](std::int64_t i) {
    differentiate_block(head, rows, w, i, smaller(head.queries - i, kQueryBlock), first, count);
  };
  // Queries before first - shift see none of these keys.
  const std::int64_t start = head.windowed ? head.window.start(first) : first - head.shift;
  std::int64_t i = 0, stop = head.queries;
  if (head.windowed) {
    for (; i < smaller(head.window.seeing, head.queries); i += kQueryBlock) block(i);
    stop = smaller(stop, head.window.stop(first < head.window.globals ? first : first + count - 1));
  }
  if (start > i) i = start / kQueryBlock * kQueryBlock;
  for (; i < stop; i += kQueryBlock) block(i);
}

// rows x width of f32, scaled, to where a gradient goes.
template <class E>
static void give(const float* from, std::int64_t rows, std::int64_t width, float scale, Out out, std::int64_t stride,
                 std::int64_t first) {
  if (!out.data) return;
  const std::int64_t padded = to_lanes(width);
  for (std::int64_t r = 0; r < rows; ++r) {
    E* to = static_cast<E*>(out.data) + (first + r) * stride;
    each(width, [&](std::int64_t i, auto part) {
      Vec v = load(from + r * padded + i) * scale;
      if (out.accumulate) v += load(to + i, part);
      store(to + i, v, part);
    });
  }
}

template <class E>
void attention_backward_head(const AttentionHead& head) {
  Backward w;
  const std::int64_t padded = to_lanes(head.width);
  const Rows rows = rows_in(head, padded);
  center_values<E>(head, w.center);
  prepare<E>(head, w.center, rows);
  for (std::int64_t first = 0; first < head.keys; first += kKeyBlock) {
    const std::int64_t count = smaller(head.keys - first, kKeyBlock);
    const E* k = static_cast<const E*>(head.k) + first * head.k_stride;
    gather_transposed(k, head.k_stride, count, head.width, w.keys_transposed);
    gather_transposed(static_cast<const E*>(head.v) + first * head.v_stride, head.v_stride, count, head.width,
                      w.values_transposed);
    for (std::int64_t i = 0; i < head.width; ++i)
      for (std::int64_t r = 0; r < count; r += kLanes) {
        float* values = w.values_transposed + i * kKeyBlock + r;
        store(values, load(values) - w.center[i]);
      }
    gather(k, head.k_stride, count, head.width, 1.0f, w.keys);
    for (std::int64_t i = 0; i < count * padded; i += kLanes) store(w.dk + i, Vec{}), store(w.dv + i, Vec{});
    differentiate_keys(head, rows, w, first, count);
    give<E>(w.dk, count, head.width, 1.0f, head.dk, head.dk_stride, first);
    give<E>(w.dv, count, head.width, 1.0f, head.dv, head.dv_stride, first);
  }
  give<E>(rows.dq, head.queries, head.width, head.scale, head.dq, head.dq_stride, 0);
}

void set_attention_backward(RowKernels& table) {
  table.attention_backward[0] = attention_backward_head<float>;
  table.attention_backward[1] = attention_backward_head<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
