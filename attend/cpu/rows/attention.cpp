// Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1) without the T x S matrix: blocks of keys with a
// running maximum and sum (Milakov & Gimelshein 2018; Dao et al. 2022).
#include "attend/cpu/rows/attention_tile.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

// Asks for a row of a head before it is needed.
template <class E>
ATTEND_INLINE void fetch(const E* row, std::int64_t width) {
  for (std::int64_t i = 0; i < width; i += 64 / static_cast<std::int64_t>(sizeof(E))) __builtin_prefetch(row + i);
}
// Keys ahead. Rows whose strides share a large power of two fall on few sets of the first cache: 32 ahead of 6 KB each
// threw one another out before they were read (GPT-2 in int8 after 512 tokens, two Neoverse-V1 cores: 242 per second
// against 259).
constexpr std::int64_t kAhead = 8;

// Scores of a few queries against keys read where they lie: decoding, where packing keys would cost more than the
// product. kLanes keys at a time, their sums folded together. Rows of a cache lie pages apart, where the processor does
// not look ahead by itself, so the next keys and these keys' values are asked for here.
template <class K>
static void scores_in_place(const AttentionHead& head, const float* q, std::int64_t rows, std::int64_t first,
                            std::int64_t count, float* scores) {
  const std::int64_t width = head.width;
  for (std::int64_t s = 0; s < count; s += kLanes) {
    const K* key[kLanes];
    for (int j = 0; j < kLanes; ++j)
      key[j] = static_cast<const K*>(head.k) + (first + smaller(s + j, count - 1)) * head.k_stride;
    for (std::int64_t j = s; j < smaller(s + kLanes, count); ++j) {
      fetch(static_cast<const K*>(head.v) + (first + j) * head.v_stride, width);
      fetch(static_cast<const K*>(head.k) + smaller(first + j + kAhead, head.keys - 1) * head.k_stride, width);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      Vec sum[kLanes] = {};
      for (std::int64_t i = 0; i < width; i += kLanes) {
        const Vec x = load(q + r * width + i);
        for (int j = 0; j < kLanes; ++j) sum[j] += x * load(key[j] + i);
      }
      store(scores + r * kKeyBlock + s, sums_of(sum));
    }
  }
}

// What a task keeps, on its stack: 270 KB at most.
struct Forward {
  alignas(64) float q[attention_rows(64) * 64];
  alignas(64) float y[attention_rows(64) * 64];
  alignas(64) float keys[kAttentionWidth * kKeyBlock];    // transposed: [D, keys]
  alignas(64) float values[kAttentionWidth * kKeyBlock];  // [keys, D]
  alignas(64) float scores[kQueryBlock * kKeyBlock];
  float max[attention_rows(64)], sum[attention_rows(64)];
};

// One block of keys for the queries [begin, begin + rows) of the head, all in place or all packed.
template <class K>
static void attend_block(const AttentionHead& head, Forward& w, std::int64_t begin, std::int64_t rows,
                         std::int64_t first, bool in_place) {
  const std::int64_t padded = to_lanes(head.width), count = smaller(head.keys - first, kKeyBlock);
  const std::int64_t columns = to_lanes(count);
  const K* v = static_cast<const K*>(head.v) + first * head.v_stride;
  if (!in_place) {
    gather_transposed(static_cast<const K*>(head.k) + first * head.k_stride, head.k_stride, count, head.width, w.keys);
    gather(v, head.v_stride, count, head.width, 1.0f, w.values);
  }
  for (std::int64_t i = 0; i < rows; i += kQueryBlock) {
    const std::int64_t m = smaller(rows - i, kQueryBlock);
    if (first >= end_of_keys(head, begin + i, begin + i + m - 1) || all_barred(head, begin + i, first, count)) continue;
    float *q = w.q + i * padded, *y = w.y + i * padded;
    if (in_place)
      scores_in_place<K>(head, q, m, first, count, w.scores);
    else
      product(m, columns, head.width, Left{q, padded, 1}, Right<float>{w.keys, kKeyBlock},
              Result{w.scores, kKeyBlock, false});
    for (std::int64_t r = 0; r < m; ++r) {
      float* scores = w.scores + r * kKeyBlock;
      const std::int64_t t = begin + i + r, seen = seen_keys(head, t, first, count);
      if (head.bias) add_bias(head, t, first, seen, scores);
      bar_keys(head, t, first, seen, scores);
      const float factor = weigh(scores, seen, columns, w.max[i + r], w.sum[i + r]);
      if (factor != 1.0f)
        for (std::int64_t c = 0; c < padded; c += kLanes) store(y + r * padded + c, load(y + r * padded + c) * factor);
      if (head.drop.threshold) drop_weights<kKeyBlock>(head, t, first, seen, scores);
    }
    if (in_place)
      product(m, padded, count, Left{w.scores, kKeyBlock, 1}, Right<K>{v, head.v_stride}, Result{y, padded, true});
    else
      product(m, padded, count, Left{w.scores, kKeyBlock, 1}, Right<float>{w.values, padded}, Result{y, padded, true});
  }
}

// Queries of E, keys and values of K.
template <class E, class K>
void attention_rows_of(const AttentionHead& head, std::int64_t begin, std::int64_t end) {
  Forward w;
  const std::int64_t rows = end - begin, padded = to_lanes(head.width);
  gather(static_cast<const E*>(head.q) + begin * head.q_stride, head.q_stride, rows, head.width, head.scale, w.q);
  for (std::int64_t i = 0; i < rows * padded; i += kLanes) store(w.y + i, Vec{});
  for (std::int64_t r = 0; r < rows; ++r) w.max[r] = -kInfinity, w.sum[r] = 0;
  const bool in_place = head.few && head.width % kLanes == 0;
  const std::int64_t keys = end_of_keys(head, begin, end - 1);
  for (std::int64_t first = 0; first < keys; first += kKeyBlock) {
    if (all_barred(head, begin, first, kKeyBlock)) first = head.window.from(begin) / kKeyBlock * kKeyBlock;
    if (first >= keys) break;
    attend_block<K>(head, w, begin, rows, first, in_place);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    E* y = static_cast<E*>(head.y) + (begin + r) * head.y_stride;
    const float sum = w.sum[r], inverse = sum > 0 ? 1.0f / sum : sum == 0 ? 0.0f : kNan;
    each(head.width, [&](std::int64_t i, auto part) { store(y + i, load(w.y + r * padded + i) * inverse, part); });
    if (head.lse) head.lse[(begin + r) * head.lse_stride] = sum == 0 ? -kInfinity : w.max[r] + logarithm(sum);
  }
}

// The weights of one query, from its log-sum-exp; the dot products one after another, since this is for looking.
template <class E, class K>
void attention_weights_row(const AttentionWeightsRow& row) {
  const E* q = static_cast<const E*>(row.q);
  for (std::int64_t s = 0; s < row.keys; ++s) {
    const K* k = static_cast<const K*>(row.k) + s * row.k_stride;
    Vec sum = {};
    each(row.width, [&](std::int64_t i, auto part) { sum += load(q + i, part) * load(k + i, part); });
    row.weights[s] = sum_of(sum) * row.scale;
  }
  if (row.bias) {
    const float* wide = static_cast<const float*>(row.bias);
    const Bf16Bits* half = static_cast<const Bf16Bits*>(row.bias);
    each(row.keys, [&](std::int64_t i, auto part) {
      const Vec bias = row.bias_bf16 ? load(half + i, part) : load(wide + i, part);
      store(row.weights + i, load(row.weights + i, part) + bias, part);
    });
  }
  const bool blind = row.lse == -kInfinity;
  each(row.keys, [&](std::int64_t i, auto part) {
    store(row.weights + i, blind ? Vec{} : exponential(load(row.weights + i, part) - row.lse), part);
  });
}

void set_attention(RowKernels& table) {
  table.attention[0][0] = attention_rows_of<float, float>, table.attention[0][1] = attention_rows_of<float, Bf16Bits>;
  table.attention[1][1] = attention_rows_of<Bf16Bits, Bf16Bits>;
  table.attention_weights[0][0] = attention_weights_row<float, float>;
  table.attention_weights[0][1] = attention_weights_row<float, Bf16Bits>;
  table.attention_weights[1][1] = attention_weights_row<Bf16Bits, Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
