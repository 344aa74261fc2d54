// Attention forward on the matrix unit: the same walk as rows/attention.cpp, with both products in tiles. Scores of 32
// queries against 128 keys at a time; weights are rounded to bf16 (or split in two, for f32) for the second product.
#include "attend/cpu/rows/amx.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

constexpr std::int64_t kTileKeys = 128, kTileQueries = 32;

// What a task keeps, on its stack: 460 KB at most, of which a head of 64 touches 200.
struct TileForward {
  PieceArray<attention_rows(64) * 64> q;
  PieceArray<kAttentionWidth * kTileKeys> keys;    // [D pairs, keys]
  PieceArray<kAttentionWidth * kTileKeys> values;  // [key pairs, D]
  PieceArray<kTileQueries * kTileKeys> weights;
  alignas(64) float scores[kTileQueries * kTileKeys];
  alignas(64) float y[attention_rows(64) * 64];
  float max[attention_rows(64)], sum[attention_rows(64)];
};

// The queries [i, i + 32) of the task against one block of keys.
template <bool kSplit>
static void attend_tiles(const AttentionHead& head, TileForward& w, std::int64_t begin, std::int64_t i, std::int64_t m,
                         std::int64_t first, std::int64_t count) {
  const std::int64_t deep = (head.width + 31) / 32, padded = (head.width + 15) / 16 * 16;
  const std::int64_t columns = (count + 31) / 32 * 32;
  tile_product<kSplit>(2, (count + 15) / 16, deep, w.q.with(32 * deep).at(i, 0), w.keys.with(2 * kTileKeys),
                       Result{w.scores, kTileKeys, false});
  const Pieces weights = w.weights.with(kTileKeys);
  for (std::int64_t r = 0; r < m; ++r) {
    float *scores = w.scores + r * kTileKeys, *y = w.y + (i + r) * padded;
    const std::int64_t t = begin + i + r, seen = seen_keys(head, t, first, count);
    for (std::int64_t c = 0; c < seen; c += kLanes) store(scores + c, load(scores + c) * head.scale);
    if (head.bias) add_bias(head, t, first, seen, scores);
    const float factor = weigh(scores, seen, columns, w.max[i + r], w.sum[i + r]);
    if (factor != 1.0f)
      for (std::int64_t c = 0; c < padded; c += kLanes) store(y + c, load(y + c) * factor);
    if (head.drop.threshold) drop_weights<kTileKeys>(head, t, first, seen, scores);
    for (std::int64_t c = 0; c < columns; c += kLanes)
      store_pieces<kSplit>(weights, r * kTileKeys + c, load(scores + c));
  }
  tile_product<kSplit>(2, padded / 16, columns / 32, weights, w.values.with(2 * padded),
                       Result{w.y + i * padded, padded, true});
}

template <class E>
void attention_tiles_of(const AttentionHead& head, std::int64_t begin, std::int64_t end) {
  constexpr bool kSplit = sizeof(E) == 4;
  TileForward w;
  const Tiles tiles;
  const std::int64_t rows = end - begin, whole = (rows + kTileQueries - 1) / kTileQueries * kTileQueries;
  const std::int64_t deep = (head.width + 31) / 32, padded = (head.width + 15) / 16 * 16;
  gather_left(static_cast<const E*>(head.q) + begin * head.q_stride, head.q_stride, rows, head.width,
              w.q.with(32 * deep));
  for (std::int64_t i = 0; i < whole * padded; i += kLanes) store(w.y + i, Vec{});
  for (std::int64_t r = 0; r < rows; ++r) w.max[r] = -kInfinity, w.sum[r] = 0;
  const std::int64_t keys = end_of_keys(head, begin, end - 1);
  for (std::int64_t first = 0; first < keys; first += kTileKeys) {
    const std::int64_t count = smaller(head.keys - first, kTileKeys);
    gather_right_transposed(static_cast<const E*>(head.k) + first * head.k_stride, head.k_stride, count, head.width,
                            w.keys.with(2 * kTileKeys));
    gather_right(static_cast<const E*>(head.v) + first * head.v_stride, head.v_stride, count, head.width,
                 w.values.with(2 * padded));
    for (std::int64_t i = 0; i < rows; i += kTileQueries) {
      const std::int64_t m = smaller(rows - i, kTileQueries);
      if (seen_keys(head, begin + i + m - 1, first, count) > 0)
        attend_tiles<kSplit>(head, w, begin, i, m, first, count);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    E* y = static_cast<E*>(head.y) + (begin + r) * head.y_stride;
    const float sum = w.sum[r], inverse = sum > 0 ? 1.0f / sum : sum == 0 ? 0.0f : kNan;
    each(head.width, [&](std::int64_t i, auto part) { store(y + i, load(w.y + r * padded + i) * inverse, part); });
    if (head.lse) head.lse[(begin + r) * head.lse_stride] = sum == 0 ? -kInfinity : w.max[r] + logarithm(sum);
  }
}

void set_attention_tiles(RowKernels& table) {
  table.attention_tiles[0] = attention_tiles_of<float>, table.attention_tiles[1] = attention_tiles_of<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
