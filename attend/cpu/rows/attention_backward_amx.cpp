// The gradient of attention on the matrix unit: rows/attention_backward.cpp with every tile transposed, keys down and
// queries across, because then no tile has to be turned between the products:
//   sᵀ = k qᵀ   dpᵀ = v dyᵀ   dv += pᵀ dy   dk += dsᵀ q   dqᵀ += kᵀ dsᵀ
// The queries of a head are packed once, both ways; the keys of a block once per block.
#include "attend/cpu/rows/amx.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

constexpr std::int64_t kSide = 64;  // queries and keys of a block
constexpr std::int64_t kWide = kAttentionWidth;

struct TileBackward {
  PieceArray<kSide * kWide> keys, values, keys_transposed;  // left sides: [keys, D], [keys, D], [D, keys]
  PieceArray<kSide * kSide> weights, dscores;               // left sides [keys, queries]
  PieceArray<kSide * kSide> dscores_right;                  // [key pairs, queries]
  alignas(64) float p[kSide * kSide], ds[kSide * kSide];    // [keys, queries]
  alignas(64) float dk[kSide * kWide], dv[kSide * kWide];
  alignas(64) std::uint32_t draws[kSide * kSide];  // of dropout, [keys, queries]
};

// Everything of one block of queries, in head.work.
struct QueryBlock {
  Pieces q, dy;                        // right sides of depth D: [D pairs, queries]
  Pieces q_rows, dy_rows;              // right sides of depth queries: [query pairs, D]
  float *dq_transposed, *lse, *delta;  // [D, queries], [queries], [queries]
};

// Sizes of a head.
struct Extent {
  std::int64_t deep, padded;  // D in steps of 32, and as whole tiles of 16 columns
  explicit Extent(std::int64_t width) : deep((width + 31) / 32), padded((width + 15) / 16 * 16) {}
};

ATTEND_INLINE QueryBlock query_block(const AttentionHead& head, const Extent& extent, std::int64_t block) {
  const std::int64_t side = kSide * 32 * extent.deep;  // bf16 numbers of one packed array
  float* work = head.work + block * attention_tiles_floats(kSide, head.width);
  auto* pieces = reinterpret_cast<Bf16Bits*>(work);
  const auto next = [&](std::int64_t stride) {
    const Pieces array{pieces, pieces + side, stride};
    pieces += 2 * side;
    return array;
  };
  QueryBlock out;
  out.q = next(2 * kSide), out.dy = next(2 * kSide);
  out.q_rows = next(2 * extent.padded), out.dy_rows = next(2 * extent.padded);
  out.dq_transposed = reinterpret_cast<float*>(pieces);
  out.lse = out.dq_transposed + 32 * extent.deep * kSide;
  out.delta = out.lse + kSide;
  return out;
}

template <class E>
static void pack_queries(const AttentionHead& head, std::int64_t first, const QueryBlock& block) {
  const std::int64_t m = smaller(head.queries - first, kSide), floats = attention_tiles_floats(kSide, head.width);
  float* start = reinterpret_cast<float*>(block.q.high);
  // Zeros in the sums, and in the packed rows where the last step of 32 is not full.
  float* from = m % 32 != 0 ? start : block.dq_transposed;
  for (; from < start + floats; from += kLanes) store(from, Vec{});
  const E* q = static_cast<const E*>(head.q) + first * head.q_stride;
  const E* dy = static_cast<const E*>(head.dy) + first * head.dy_stride;
  gather_right_transposed(q, head.q_stride, m, head.width, block.q);
  gather_right_transposed(dy, head.dy_stride, m, head.width, block.dy);
  gather_right(q, head.q_stride, m, head.width, block.q_rows);
  gather_right(dy, head.dy_stride, m, head.width, block.dy_rows);
  for (std::int64_t t = 0; t < kSide; ++t) block.lse[t] = kInfinity;  // weights of e^-inf
  for (std::int64_t t = 0; t < m; ++t) {
    const E* y = static_cast<const E*>(head.y) + (first + t) * head.y_stride;
    Vec sum = {};
    each(head.width,
         [&](std::int64_t i, auto part) { sum += load(dy + t * head.dy_stride + i, part) * load(y + i, part); });
    block.delta[t] = sum_of(sum);
    const float lse = head.lse[(first + t) * head.lse_stride];
    if (lse != -kInfinity) block.lse[t] = lse;
  }
}

// The dropout draws of a block, turned so that queries lie across.
static void draw_dropout(const AttentionHead& head, std::int64_t query, std::int64_t m, std::int64_t key,
                         std::int64_t count, std::uint32_t* out) {
  for (std::int64_t t = 0; t < m; t += 16) {
    DropoutDraws<kSide> random[16];
    for (std::int64_t j = 0; j < 16 && t + j < m; ++j)
      random[j].fill(head.drop.key,
                     head.drop_first + static_cast<std::uint64_t>(query + t + j) * head.drop_stride +
                         static_cast<std::uint64_t>(key),
                     count);
    for (std::int64_t s = 0; s < count; s += 16) {
      Vec block[16];
      for (int j = 0; j < 16; ++j) block[j] = t + j < m ? (Vec)load_draws(random[j].begin() + s) : Vec{};
      transpose(block);
      for (int j = 0; j < 16; ++j) __builtin_memcpy(out + (s + j) * kSide + t, &block[j], sizeof block[j]);
    }
  }
}

// From the scores and dy vᵀ of a block to its weights and the gradient of its scores, as pieces.
template <bool kSplit>
static void differentiate_tiles(const AttentionHead& head, TileBackward& w, const QueryBlock& block, std::int64_t query,
                                std::int64_t m, std::int64_t key, std::int64_t count) {
  const Pieces weights = w.weights.with(kSide), dscores = w.dscores.with(kSide),
               right = w.dscores_right.with(2 * kSide);
  const std::int64_t across = (m + 31) / 32 * 32, down = (count + 31) / 32 * 32;
  const bool drops = head.drop.threshold != 0;
  if (drops) draw_dropout(head, query, m, key, count, w.draws);
  for (std::int64_t s = 0; s < down; ++s)
    for (std::int64_t t = 0; t < across; t += kLanes) {
      const std::int64_t at = s * kSide + t;
      Vec kept = {}, ds = {};
      // Query t sees key s from t = s - shift on.
      const std::int64_t hidden = key + s - head.shift - query - t;
      if (s < count && hidden < kLanes) {
        Vec p = exponential(load(w.p + at) * head.scale - load(block.lse + t));
        if (hidden > 0) p = iota() >= (IntVec{} + static_cast<int>(hidden)) ? p : Vec{};
        Vec d = load(w.ds + at);
        kept = p;
        if (drops) d = dropped(d, head.drop, w.draws + at), kept = dropped(p, head.drop, w.draws + at);
        ds = p * (d - load(block.delta + t));
      }
      store_pieces<kSplit>(weights, at, kept);
      store_pieces<kSplit>(dscores, at, ds);
      store(w.ds + at, ds);
    }
  gather_right<float, kSplit>(w.ds, kSide, down, across, right);
}

template <bool kSplit>
static void block_of_queries(const AttentionHead& head, const Extent& extent, TileBackward& w, const QueryBlock& block,
                             std::int64_t query, std::int64_t key, std::int64_t count) {
  const std::int64_t m = smaller(head.queries - query, kSide), stride = 32 * extent.deep;
  const std::int64_t down = (count + 31) / 32, across = (m + 31) / 32;  // in steps of 32: two tiles
  tile_product<kSplit>(2 * down, 2 * across, extent.deep, w.keys.with(stride), block.q, Result{w.p, kSide, false});
  tile_product<kSplit>(2 * down, 2 * across, extent.deep, w.values.with(stride), block.dy, Result{w.ds, kSide, false});
  differentiate_tiles<kSplit>(head, w, block, query, m, key, count);
  const std::int64_t columns = extent.padded / 16;
  if (head.dv.data)
    tile_product<kSplit>(2 * down, columns, across, w.weights.with(kSide), block.dy_rows,
                         Result{w.dv, extent.padded, true});
  if (head.dk.data)
    tile_product<kSplit>(2 * down, columns, across, w.dscores.with(kSide), block.q_rows,
                         Result{w.dk, extent.padded, true});
  if (head.dq.data)
    tile_product<kSplit>(2 * extent.deep, 2 * across, down, w.keys_transposed.with(kSide),
                         w.dscores_right.with(2 * kSide), Result{block.dq_transposed, kSide, true});
}

// The keys of a block, as left sides; rows up to a whole step of 32 are zeros.
template <class E>
static void pack_keys(const AttentionHead& head, const Extent& extent, TileBackward& w, std::int64_t key,
                      std::int64_t count) {
  constexpr bool kSplit = sizeof(E) == 4;
  const std::int64_t stride = 32 * extent.deep, whole = (count + 31) / 32 * 32;
  const Pieces keys = w.keys.with(stride), values = w.values.with(stride);
  const E* k = static_cast<const E*>(head.k) + key * head.k_stride;
  gather_left(k, head.k_stride, count, head.width, keys);
  gather_left(static_cast<const E*>(head.v) + key * head.v_stride, head.v_stride, count, head.width, values);
  for (std::int64_t i = count * stride; i < whole * stride; i += kLanes)
    store_pieces<kSplit>(keys, i, Vec{}), store_pieces<kSplit>(values, i, Vec{});
  // w.dk is free until the sums begin: 16 x 16 numbers at a time through f32.
  gather_transposed(k, head.k_stride, count, head.width, w.dk);
  for (std::int64_t d = 0; d < stride; ++d)
    for (std::int64_t s = 0; s < whole; s += kLanes) {
      const bool inside = d < head.width && s < count;
      store_pieces<kSplit>(w.keys_transposed.with(kSide), d * kSide + s,
                           inside ? load(w.dk + d * kKeyBlock + s) : Vec{});
    }
}

// rows x width of f32, scaled, to where a gradient goes.
template <class E>
ATTEND_INLINE void give_row(const float* from, std::int64_t width, float scale, Out out, std::int64_t offset) {
  E* to = static_cast<E*>(out.data) + offset;
  each(width, [&](std::int64_t i, auto part) {
    Vec v = load(from + i) * scale;
    if (out.accumulate) v += load(to + i, part);
    store(to + i, v, part);
  });
}

template <class E>
void attention_backward_tiles(const AttentionHead& head) {
  static_assert(kSide == kKeyBlock);
  constexpr bool kSplit = sizeof(E) == 4;
  TileBackward w;
  const Tiles tiles;
  const Extent extent(head.width);
  for (std::int64_t query = 0; query < head.queries; query += kSide)
    pack_queries<E>(head, query, query_block(head, extent, query / kSide));
  for (std::int64_t key = 0; key < head.keys; key += kSide) {
    const std::int64_t count = smaller(head.keys - key, kSide);
    pack_keys<E>(head, extent, w, key, count);
    for (std::int64_t i = 0; i < kSide * extent.padded; i += kLanes) store(w.dk + i, Vec{}), store(w.dv + i, Vec{});
    const std::int64_t blind = key - head.shift;  // queries before this see none of these keys
    for (std::int64_t query = blind > 0 ? blind / kSide * kSide : 0; query < head.queries; query += kSide)
      block_of_queries<kSplit>(head, extent, w, query_block(head, extent, query / kSide), query, key, count);
    for (std::int64_t s = 0; s < count; ++s) {
      if (head.dk.data)
        give_row<E>(w.dk + s * extent.padded, head.width, head.scale, head.dk, (key + s) * head.dk_stride);
      if (head.dv.data) give_row<E>(w.dv + s * extent.padded, head.width, 1.0f, head.dv, (key + s) * head.dv_stride);
    }
  }
  for (std::int64_t query = 0; head.dq.data && query < head.queries; query += kSide) {
    const QueryBlock block = query_block(head, extent, query / kSide);
    for (std::int64_t t = 0; t < smaller(head.queries - query, kSide); t += 16) {
      for (std::int64_t d = 0; d < head.width; d += 16) {  // w.dk [16, D] is free again
        Vec turned[16];
        for (int j = 0; j < 16; ++j) turned[j] = load(block.dq_transposed + (d + j) * kSide + t);
        transpose(turned);
        for (int j = 0; j < 16; ++j) store(w.dk + j * extent.padded + d, turned[j]);
      }
      for (std::int64_t j = 0; j < smaller(head.queries - query - t, 16); ++j)
        give_row<E>(w.dk + j * extent.padded, head.width, head.scale, head.dq, (query + t + j) * head.dq_stride);
    }
  }
}

void set_attention_backward_tiles(RowKernels& table) {
  table.attention_backward_tiles[0] = attention_backward_tiles<float>;
  table.attention_backward_tiles[1] = attention_backward_tiles<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
