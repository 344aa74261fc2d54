// Flash attention forward on the tensor cores (Dao 2023, section 3.1): a block owns kQueries queries of one head and
// walks the keys from the last tile it sees to the first. Each warp keeps 16 queries: scores, softmax and sums stay in
// its registers; the next tile of keys and values arrives in the other half of shared memory meanwhile.
#include "attend/cuda/attention/attention_forward.cuh"
#include "attend/cuda/capability.h"

namespace attend::cuda {
namespace {

template <class Config, bool kExtras, bool kWindow>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocks) attention_forward(const AttentionParams p) {
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  extern __shared__ __align__(128) unsigned char shared[];
  const std::uint32_t base = shared_address(shared);
  constexpr std::uint32_t kKeysAt = QueryTile::kBytes, kStage = 2 * KeyTile::kBytes;
  const int lane = threadIdx.x & 31, warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);

  const ForwardBlock<Config> block(p);
  if (block.queries <= 0) return;
  const auto [b, h, first, queries, seen_tiles, span, q_rows, k_rows, v_rows] = block;
  const Window window = window_of(p, span);
  const KeyTiles<Config::kKeys> walk(window, first, first + queries - 1);
  const int tiles = kWindow ? walk.count : seen_tiles;
  const auto first_key = [&](int n) { return (kWindow ? walk.tile(n) : n) * Config::kKeys; };
  const TileCopier<KeyTile, Config::kThreads> copy_keys(k_rows, p.k_stride, p.width),
      copy_values(v_rows, p.v_stride, p.width);
  const auto load_keys = [&](int n, int stage) {
    const std::uint32_t to = base + kKeysAt + stage * kStage;
    const int row = first_key(n), valid = span.visible - row;
    copy_keys(to, row, valid);
    copy_values(to + KeyTile::kBytes, row, valid);
    copy_async_commit();
  };

  std::uint32_t q[Config::kWidth / 16][4];
  float o[Config::kWidth / 8][4];
  clear(o);
  RowState rows;
  if (tiles > 0) {
    TileCopier<QueryTile, Config::kThreads>(q_rows, p.q_stride, p.width)(base, first, queries);
    load_keys(tiles - 1, 0);
    copy_async_wait();
    __syncthreads();
    load_operand<QueryTile>(q, base, 16 * warp);
  }

  const int query = first + 16 * warp + lane / 4;  // this thread's rows: query, query + 8
  // No keys for rows behind the last query: their bias must not be read.
  const auto end_of = [&](int t) { return t >= span.queries ? 0 : kWindow ? window.end(t) : key_limit(span, t); };
  const int limits[2] = {end_of(query), end_of(query + 8)};
  // The keys seen by the first and the last of the warp's rows: below `all` needs no mask, from `none` on there is
  // nothing to do.
  const int top = first + 16 * warp, bottom = top + 15;
  const int all = key_limit(span, top),
            none = kWindow ? window.end(top < window.seeing ? top : bottom) : key_limit(span, bottom);
  const WindowRows shown(window, query, top, bottom);
  const HiddenKeys hidden(p, span);
  const float factor = p.scale * kLog2E, step_factor = kExtras ? 1.0f : factor;
  const BiasReader bias(p, b, h);
  const WeightDropout dropout(p, b, h);

  for (int n = tiles - 1, stage = 0; n >= 0; --n, stage ^= 1) {
    copy_async_wait();
    __syncthreads();
    if (n > 0) load_keys(n - 1, stage ^ 1);
    const int key = first_key(n);
    if (key >= none || (kWindow && key >= window.globals && key + Config::kKeys <= window.from(top))) continue;
    const std::uint32_t k_tile = base + kKeysAt + stage * kStage, v_tile = k_tile + KeyTile::kBytes;

    float s[Config::kKeys / 8][4];
    WarpProducts::template times_rows<KeyTile>(s, q, k_tile);
    if constexpr (kExtras) bias_scores(s, factor, bias, query, key, limits);
    if constexpr (kWindow) {
      if (shown.cut(key, Config::kKeys)) mask_scores(s, key, shown);
      if (hidden.any()) hide_scores(s, HiddenTile<Config::kKeys>(hidden, key, top), hidden, query, key);
    } else {
      if (key + Config::kKeys > all) mask_scores(s, key, limits);
    }
    float rescale[2];
    softmax_step(s, rows, step_factor, rescale);
    scale_rows(o, rescale);
    if constexpr (kExtras) {
      if (dropout.on) drop_weights(s, dropout, query, key);
    }
    std::uint32_t weights[Config::kKeys / 16][4];
    to_operand(s, weights);
    WarpProducts::template add_times_columns<KeyTile>(o, weights, v_tile, 0);
  }

  float factors[2];
  finish_rows(rows, step_factor, dropout.scale, p, span, h, query, factors);
  store_rows<QueryTile>(o, factors, shared, 16 * warp, 0, block.window(p));
}

// Without extras the scale is folded into the exponent, which needs the maximum of the unscaled scores: scale > 0.
bool has_extras(const AttentionParams& p) { return p.bias || p.dropout_rate > 0 || !(p.scale > 0); }

template <class Config>
void launch_config(const AttentionParams& p, cudaStream_t stream) {
  launch_forward<Config>(p.windowed      ? attention_forward<Config, true, true>
                         : has_extras(p) ? attention_forward<Config, true, false>
                                         : attention_forward<Config, false, false>,
                         p, stream);
}

bool is_short(const AttentionParams& p) { return p.queries <= 32 && p.keys <= 32 && p.width <= 64; }

// Few queries take half the rows, and where there are few keys too a quarter: as many times the blocks.
template <int kWidth, int kKeys, int kBlocks>
void launch_width(const AttentionParams& p, cudaStream_t stream) {
  if constexpr (kWidth <= 64) {
    if (is_short(p)) return launch_config<ForwardConfig<kWidth, 2, 32, 5 * kBlocks>>(p, stream);
  }
  if (p.queries <= 64)
    launch_config<ForwardConfig<kWidth, 4, kKeys, 2 * kBlocks>>(p, stream);
  else
    launch_config<ForwardConfig<kWidth, 8, kKeys, kBlocks>>(p, stream);
}

}  // namespace

void launch_attention_forward_tiled(const AttentionParams& p, cudaStream_t stream) {
  const bool groups = p.width > 32 && p.width <= 128 && !has_extras(p) && !is_short(p) && has_wgmma();
  if (groups && p.queries > 64 && p.key_rows > 0 && (p.width > 64 || p.queries >= 2048 || p.windowed))
    launch_attention_forward_stream(p, stream);
  else if (groups && !p.windowed)
    launch_attention_forward_groups(p, stream);
  else if (attention_is_windows(p))
    launch_attention_forward_windows(p, stream);
  else if (p.width <= 32)
    launch_width<32, 64, 2>(p, stream);
  else if (p.width <= 64)
    launch_width<64, 64, 2>(p, stream);
  else if (p.width <= 128)
    launch_width<128, 64, 1>(p, stream);
  else
    launch_config<ForwardConfig<256, 8, 32, 1>>(p, stream);
}

}  // namespace attend::cuda
