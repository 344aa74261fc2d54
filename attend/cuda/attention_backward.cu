// Flash attention backward on the tensor cores (Dao 2023, section 3.2), deterministic: a block owns one head. For a
// chunk of its queries it walks the tiles of keys, and for each the tiles of queries that see it.
//
// Scores are computed transposed, keys by queries, so that weights and score gradients are already the left operands
// of dv += Pᵀ dy and dk += dSᵀ q, which stay in registers; only dS goes through shared memory, for dq += dS k. dq of
// the chunk is kept in shared memory in f32, each thread adding to its own numbers: no atomics, and 5 products instead
// of the 7 of a separate pass for dq. With more than one chunk dk and dv wait in scratch memory from one to the next.
// Where shared memory is too small for a useful chunk (wide heads), all queries are one and dq waits in scratch.
// dq of a tile is multiplied while the scores of the next are: one barrier a tile.
// When there are too few heads to fill the GPU several blocks share one ("parts"), each with every so many-th tile of
// keys and its own dq, which a last kernel adds in order.
#include <type_traits>

#include "attend/cuda/attention_backward.cuh"
#include "attend/cuda/attention_wgmma.cuh"

// Constants of a configuration that its kernel does not read are no mistake.
#pragma nv_diag_suppress 177

namespace attend::cuda {
namespace {

template <class Products_, int kWidth_, int kQueries_, int kKeys_, int kChunk_>
struct BackwardConfig {
  using Products = Products_;
  static constexpr int kWidth = kWidth_, kQueries = kQueries_, kKeys = kKeys_;
  static constexpr int kChunk = kChunk_;  // tiles of queries whose dq is in shared memory; 0: in scratch, all
  static constexpr int kWarps = 8, kThreads = 256;
  [[maybe_unused]] static constexpr int kKeyWarps = kKeys / 16;  // 16 keys a warp
  [[maybe_unused]] static constexpr int kColumnWarps =
      kWarps / kKeyWarps;  // which share dk's and dv's columns among them
  [[maybe_unused]] static constexpr int kColumns = kWidth / kColumnWarps;
  static constexpr int kRowWarps = kQueries / 16;  // for dq: 16 queries a warp, and the columns shared
  static constexpr int kQueryColumns = kWidth * kRowWarps / kWarps;
  [[maybe_unused]] static constexpr bool kKeepKeys = kWidth <= 64;  // k and v stay in registers too
  // dk and dv leave through the tiles of scores, while the next keys arrive; else through those of k and v.
  [[maybe_unused]] static constexpr bool kEarlyKeys = kQueries >= kWidth;
  using KeyTile = SharedTile<kKeys, kWidth>;
  using QueryTile = SharedTile<kQueries, kWidth>;
  using ScoreTile = SharedTile<kKeys, kQueries>;
  static constexpr int kTileFloats = kQueries * kWidth;  // of dq
  static constexpr int kStage = 2 * QueryTile::kBytes;   // q and dy
  static constexpr int kScoresAt = 2 * KeyTile::kBytes + 2 * kStage;
  static constexpr int kSumsAt = kScoresAt + 2 * ScoreTile::kBytes;
  static constexpr int kStatsAt = kSumsAt + kChunk * kTileFloats * 4;
  static constexpr int kSharedBytes = kStatsAt + 4 * kQueries * 4 + 1024;  // + room to align
};

struct BackwardKernelParams {
  AttentionParams p;
  AttentionBackwardParams g;
  const float* stats;  // [2, H, query_rows]
  float* query_sums;   // [parts, B·H, query tiles, kTileFloats]; used when there are parts, or no chunks
  float* key_sums;     // [B·H, key tiles, 2, kKeys · kWidth]; used when there are several chunks
  int parts;
};

// The first tile of queries that sees a key of tile n. A head's first tile of keys is shown to all queries, so that dq
// is written even where nothing is seen.
template <class Config>
__device__ __forceinline__ int first_tile(const AttentionSpan& span, int parts, int n) {
  if (n == 0 && parts == 1) return 0;
  const int start = query_start(span, n * Config::kKeys);
  return start <= 0 ? 0 : start / Config::kQueries;
}

// Where a thread's share of dq of query tile m lies among the sums of its part.
template <class Config>
__device__ __forceinline__ float* query_sums(const BackwardKernelParams& a, int part, int head, int m) {
  const std::int64_t heads = static_cast<std::int64_t>(a.p.batch) * a.p.heads;
  const int tiles = ceil_div(a.p.queries, Config::kQueries);
  return a.query_sums + ((part * heads + head) * tiles + m) * Config::kTileFloats +
         threadIdx.x / 32 * (Config::kQueryColumns / 8) * kFragmentStride + (threadIdx.x & 31) * 4;
}

// The same for dk of key tile n; dv lies kKeys · kWidth floats behind.
template <class Config>
__device__ __forceinline__ float* key_sums(const BackwardKernelParams& a, int head, int n) {
  const std::int64_t tiles = ceil_div(a.p.keys, Config::kKeys);
  return a.key_sums + (head * tiles + n) * (2 * Config::kKeys * Config::kWidth) +
         threadIdx.x / 32 * (Config::kColumns / 8) * kFragmentStride + (threadIdx.x & 31) * 4;
}

template <class Config>
__device__ __forceinline__ void store_queries(const float (&c)[Config::kQueryColumns / 8][4],
                                              const BackwardKernelParams& a, const AttentionSpan& span, int h, int m) {
  const int warp = threadIdx.x / 32;
  const RowWindow window{.data = static_cast<__nv_bfloat16*>(a.g.dq.data) +
                                 (span.query_row + m * Config::kQueries) * a.g.dq.stride + h * a.p.width,
                         .stride = a.g.dq.stride,
                         .rows = span.queries - m * Config::kQueries,
                         .width = a.p.width,
                         .accumulate = a.g.dq.accumulate};
  store_direct(c, a.p.scale, warp % Config::kRowWarps * 16, warp / Config::kRowWarps * Config::kQueryColumns, window);
}

template <class Config, bool kExtras>
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward(const __grid_constant__ BackwardKernelParams a) {
  using Products = typename Config::Products;
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  using ScoreTile = typename Config::ScoreTile;
  constexpr int kQueries8 = Config::kQueries / 8;
  if constexpr (!Products::kGroups || kHasWgmma) {
    extern __shared__ unsigned char raw_shared[];
    unsigned char* shared = raw_shared + ((1024 - (shared_address(raw_shared) & 1023)) & 1023);
    const std::uint32_t k_tile = shared_address(shared), v_tile = k_tile + KeyTile::kBytes;
    const std::uint32_t stages = v_tile + KeyTile::kBytes;
    float* stats = reinterpret_cast<float*>(shared + Config::kStatsAt);  // [stage][lse, delta][kQueries]

    const AttentionParams& p = a.p;
    const int lane = threadIdx.x & 31, warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
    const int key_row = warp % Config::kKeyWarps * 16, column = warp / Config::kKeyWarps * Config::kColumns;
    const int part = blockIdx.x % a.parts, head = blockIdx.x / a.parts, b = head / p.heads, h = head % p.heads;
    const AttentionSpan span = span_of(p, b);
    const int query_tiles = ceil_div(span.queries, Config::kQueries);
    const float factor = p.scale * kLog2E;
    const BiasReader bias(p, b, h);
    const WeightDropout dropout(p, b, h);

    const std::int64_t dy_stride = static_cast<std::int64_t>(p.heads) * p.width;
    const auto* q = static_cast<const __nv_bfloat16*>(p.q) + span.query_row * p.q_stride + h * p.width;
    const auto* dy = static_cast<const __nv_bfloat16*>(a.g.dy) + span.query_row * dy_stride + h * p.width;
    const auto* k = static_cast<const __nv_bfloat16*>(p.k) + span.key_row * p.k_stride + h * p.width;
    const auto* v = static_cast<const __nv_bfloat16*>(p.v) + span.key_row * p.v_stride + h * p.width;
    const TileCopier<QueryTile, Config::kThreads> copy_q(q, p.q_stride, p.width), copy_dy(dy, dy_stride, p.width);
    // Threads [0, kQueries) bring the queries' log-sum-exps, the next as many their deltas.
    const int stat = threadIdx.x % Config::kQueries, which = threadIdx.x / Config::kQueries;
    const float* row_stats = a.stats + (which * p.heads + h) * p.query_rows + span.query_row + stat;

    const auto load_queries = [&](int m, int stage) {
      const int row = m * Config::kQueries, valid = span.queries - row;
      const std::uint32_t to = stages + stage * Config::kStage;
      copy_q(to, row, valid);
      copy_dy(to + QueryTile::kBytes, row, valid);
      if (which < 2)
        copy_async_word(shared_address(stats + stage * 2 * Config::kQueries + threadIdx.x),
                        stat < valid ? row_stats + row : a.stats, stat < valid);
      copy_async_commit();
    };

    const auto load_keys = [&](int n, int m) {  // and the first queries that see them
      const int row = n * Config::kKeys, valid = span.visible - row;
      TileCopier<KeyTile, Config::kThreads>(k, p.k_stride, p.width)(k_tile, row, valid);
      TileCopier<KeyTile, Config::kThreads>(v, p.v_stride, p.width)(v_tile, row, valid);
      load_queries(m, m & 1);
    };

    float dq[Config::kQueryColumns / 8][4];
    const int chunk_tiles = Config::kChunk > 0 ? Config::kChunk : max(query_tiles, 1);
    for (int chunk = 0; chunk == 0 || chunk < query_tiles; chunk += chunk_tiles) {
      const int chunk_end = min(chunk + chunk_tiles, query_tiles);
      const bool last_chunk = chunk_end == query_tiles;
      float* chunk_sums = reinterpret_cast<float*>(shared + Config::kSumsAt) +
                          warp * (Config::kQueryColumns / 8) * kFragmentStride + lane * 4;
      bool arriving = false;  // the keys of the tile have been asked for

      for (int n = part; n == 0 || n * Config::kKeys < span.keys; n += a.parts) {
        const int key = n * Config::kKeys, seen_from = first_tile<Config>(span, a.parts, n);
        const int begin = max(chunk, min(seen_from, query_tiles));
        if (begin >= chunk_end && !last_chunk) break;  // nor will the tiles behind it be seen
        float dk[Config::kColumns / 8][4], dv[Config::kColumns / 8][4];
        std::uint32_t k_rows[Config::kKeepKeys ? Config::kWidth / 16 : 1][4];
        std::uint32_t v_rows[Config::kKeepKeys ? Config::kWidth / 16 : 1][4];
        if (begin < chunk_end && !arriving) load_keys(n, begin);
        if (Config::kChunk > 0 && seen_from < chunk) {
          load_sums(dk, key_sums<Config>(a, head, n));
          load_sums(dv, key_sums<Config>(a, head, n) + Config::kKeys * Config::kWidth);
        } else {
          clear(dk);
          clear(dv);
        }
        if constexpr (Config::kKeepKeys) {
          if (begin < chunk_end) {
            copy_async_wait();
            __syncthreads();
            load_operand<KeyTile>(k_rows, k_tile, key_row);
            load_operand<KeyTile>(v_rows, v_tile, key_row);
          }
        }
        const int my_key = key + key_row + lane / 4;  // this thread's rows: my_key, my_key + 8
        const int starts[2] = {query_start(span, my_key), query_start(span, my_key + 8)};
        // Queries from `open` on see all keys of the tile; before `closed`, none of the rows that multiply together.
        const int open = query_start(span, key + Config::kKeys - 1);
        const int closed = query_start(span, key + (Products::kGroups ? key_row & ~63 : key_row));

        // dq of tile m: fetch what was summed, multiply, put back.
        const auto fetch_dq = [&](int m) {
          if (n == part)
            clear(dq);
          else if constexpr (Config::kChunk > 0)
            load_shared(dq, chunk_sums + (m - chunk) * Config::kTileFloats);
          else
            load_sums(dq, query_sums<Config>(a, part, head, m));
        };
        const auto multiply_dq = [&](int m) {
          Products::template add_columns_times_columns<ScoreTile, KeyTile>(
              dq, k_tile + Config::kScoresAt + (m & 1) * ScoreTile::kBytes, warp % Config::kRowWarps * 16, k_tile,
              warp / Config::kRowWarps * Config::kQueryColumns);
        };
        const auto put_dq = [&](int m) {
          if constexpr (Config::kChunk > 0) {
            store_shared(dq, chunk_sums + (m - chunk) * Config::kTileFloats);
          } else {
            const int next = n + a.parts;
            const bool last = next * Config::kKeys >= span.keys || first_tile<Config>(span, a.parts, next) > m;
            if (!last || a.parts > 1)
              store_sums(dq, query_sums<Config>(a, part, head, m));
            else if (a.g.dq.data)
              store_queries<Config>(dq, a, span, h, m);
          }
        };

        // Tile m, and dq of the tile before. The first is compiled apart: products in flight must not be conditional.
        const auto step = [&]<bool kFirst>(std::bool_constant<kFirst>, int m) {
          const int stage = m & 1, query = m * Config::kQueries;
          if constexpr (!kFirst) fetch_dq(m - 1);
          copy_async_wait();
          Products::publish();
          __syncthreads();
          if (m + 1 < chunk_end) load_queries(m + 1, stage ^ 1);
          const std::uint32_t q_tile = stages + stage * Config::kStage, dy_tile = q_tile + QueryTile::kBytes;
          const float *lse = stats + stage * 2 * Config::kQueries, *delta = lse + Config::kQueries;
          unsigned char* score_tile = shared + Config::kScoresAt + stage * ScoreTile::kBytes;
          std::uint32_t ds_operand[Config::kQueries / 16][4];
          // A group has nothing to do for its first tile at most; one that has, for others, is merely slow.
          if ((!Products::kGroups || kFirst) && query + Config::kQueries <= closed) {
            if constexpr (!kFirst) multiply_dq(m - 1);
#pragma unroll
            for (int i = 0; i < Config::kQueries / 16; ++i)
#pragma unroll
              for (int e = 0; e < 4; ++e) ds_operand[i][e] = 0;
          } else {
            float s[kQueries8][4], dp[kQueries8][4];
            if constexpr (!kFirst) Products::hold(dq);
            Products::begin();
            if constexpr (Config::kKeepKeys)
              Products::template times_rows<QueryTile>(s, k_rows, q_tile);
            else
              Products::template rows_times_rows<KeyTile, QueryTile>(s, k_tile, key_row, q_tile);
            Products::commit();
            if constexpr (Config::kKeepKeys)
              Products::template times_rows<QueryTile>(dp, v_rows, dy_tile);
            else
              Products::template rows_times_rows<KeyTile, QueryTile>(dp, v_tile, key_row, dy_tile);
            Products::commit();
            if constexpr (!kFirst) multiply_dq(m - 1);
            Products::commit();
            Products::template wait<2>(s);
            if constexpr (kExtras) bias_transposed(s, factor, bias, query, my_key, span);
            weigh(s, kExtras ? 1.0f : factor, lse);
            if (query < open) mask_weights(s, query, starts);
            std::uint32_t operand[Config::kQueries / 16][4];
            std::uint32_t keep[kQueries8 / 8 > 0 ? kQueries8 / 8 : 1];
            if (kExtras && dropout.on) {
              draw_dropout<kQueries8>(keep, dropout, query, my_key);
              to_operand_dropped(s, keep, operand);
            } else {
              to_operand(s, operand);
            }
            Products::hold(s);
            Products::hold(operand);
            Products::template wait<1>(dp);
            Products::begin();
            Products::template add_times_columns<QueryTile>(dv, operand, dy_tile, column);
            Products::commit();
            if (kExtras && dropout.on) drop_gradients(dp, keep, dropout.scale);
            score_gradients(s, dp, delta);
            to_operand(dp, ds_operand);
            Products::begin();
            Products::template add_times_columns<QueryTile>(dk, ds_operand, q_tile, column);
            Products::commit();
            if constexpr (kFirst) Products::template wait<0>(dk, dv);
          }
          if (column == 0) store_operand<ScoreTile>(ds_operand, score_tile, key_row);
          if constexpr (!kFirst) {
            Products::template wait<0>(dq, dk, dv);
            put_dq(m - 1);
          }
        };

        if (begin < chunk_end) {
          step(std::true_type{}, begin);
          for (int m = begin + 1; m < chunk_end; ++m) step(std::false_type{}, m);
          fetch_dq(chunk_end - 1);
          Products::publish();
          __syncthreads();
          Products::begin();
          multiply_dq(chunk_end - 1);
          Products::commit();
          Products::template wait<0>(dq);
          put_dq(chunk_end - 1);
          __syncthreads();  // all tiles have been read
        }
        arriving = false;
        if constexpr (Config::kEarlyKeys) {
          const int next = n + a.parts;
          if (next * Config::kKeys < span.keys) {
            const int next_begin = max(chunk, min(first_tile<Config>(span, a.parts, next), query_tiles));
            arriving = next_begin < chunk_end;
            if (arriving) load_keys(next, next_begin);
          }
        }
        if (last_chunk) {
          const auto window = [&](const AttentionGradient& to) {
            return RowWindow{
                .data = static_cast<__nv_bfloat16*>(to.data) + (span.key_row + key) * to.stride + h * p.width,
                .stride = to.stride,
                .rows = span.keys - key,
                .width = p.width,
                .accumulate = to.accumulate};
          };
          const float k_factors[2] = {p.scale, p.scale}, v_factors[2] = {dropout.scale, dropout.scale};
          unsigned char* way_out = shared + (Config::kEarlyKeys ? Config::kScoresAt : 0);
          if (a.g.dk.data) store_rows<KeyTile>(dk, k_factors, way_out, key_row, column / 8, window(a.g.dk));
          if (a.g.dv.data)
            store_rows<KeyTile>(dv, v_factors, way_out + KeyTile::kBytes, key_row, column / 8, window(a.g.dv));
          if constexpr (!Config::kEarlyKeys) __syncthreads();
        } else if constexpr (Config::kChunk > 0) {
          store_sums(dk, key_sums<Config>(a, head, n));
          store_sums(dv, key_sums<Config>(a, head, n) + Config::kKeys * Config::kWidth);
        }
      }

      if constexpr (Config::kChunk > 0) {  // the chunk's dq is complete, or this part's share of it
        for (int m = max(chunk, first_tile<Config>(span, a.parts, part)); m < chunk_end && a.g.dq.data; ++m) {
          load_shared(dq, chunk_sums + (m - chunk) * Config::kTileFloats);
          if (a.parts > 1)
            store_sums(dq, query_sums<Config>(a, part, head, m));
          else
            store_queries<Config>(dq, a, span, h, m);
        }
      }
    }
  }
}

// dq = the parts' sums, in order. One block for each query tile of a head, with the threads of the kernel above.
template <class Config>
__global__ void __launch_bounds__(Config::kThreads) add_parts(const __grid_constant__ BackwardKernelParams a) {
  const int tiles = ceil_div(a.p.queries, Config::kQueries);
  const int head = blockIdx.x / tiles, m = blockIdx.x % tiles;
  const AttentionSpan span = span_of(a.p, head / a.p.heads);
  if (m * Config::kQueries >= span.queries) return;
  float sum[Config::kQueryColumns / 8][4];
  clear(sum);
  for (int part = 0; part < a.parts && part * Config::kKeys < span.keys; ++part) {
    if (first_tile<Config>(span, a.parts, part) > m) continue;
    float x[Config::kQueryColumns / 8][4];
    load_sums(x, query_sums<Config>(a, part, head, m));
#pragma unroll
    for (int j = 0; j < Config::kQueryColumns / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[j][e] += x[j][e];
  }
  store_queries<Config>(sum, a, span, head % a.p.heads, m);
}

// Enough blocks for the largest GPUs, of a count that the sizes alone decide: results are the same on all of them.
constexpr int kWantedBlocks = 264;

// How a call is cut up, and the scratch memory that takes.
struct Plan {
  int parts = 1;
  std::size_t stats = 0, query_sums = 0, key_sums = 0;  // bytes
};

template <class Config>
Plan plan_for(const AttentionParams& p) {
  const std::size_t heads = static_cast<std::size_t>(p.batch) * p.heads;
  const int key_tiles = ceil_div(p.keys, Config::kKeys), query_tiles = ceil_div(p.queries, Config::kQueries);
  const auto wanted = static_cast<int>((kWantedBlocks + heads - 1) / heads);
  Plan plan;
  plan.parts = wanted < key_tiles ? wanted : key_tiles > 1 ? key_tiles : 1;
  plan.stats = (2 * sizeof(float) * p.heads * static_cast<std::size_t>(p.query_rows) + 255) / 256 * 256;
  if (plan.parts > 1 || (Config::kChunk == 0 && key_tiles > 1))
    plan.query_sums = sizeof(float) * plan.parts * heads * query_tiles * Config::kTileFloats;
  if (Config::kChunk > 0 && query_tiles > Config::kChunk)
    plan.key_sums = sizeof(float) * heads * key_tiles * 2 * Config::kKeys * Config::kWidth;
  return plan;
}

template <class Config, bool kExtras>
void launch(const BackwardKernelParams& a, cudaStream_t stream) {
  const auto kernel = attention_backward<Config, kExtras>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  kernel<<<a.p.batch * a.p.heads * a.parts, Config::kThreads, Config::kSharedBytes, stream>>>(a);
}

// body(Config{}) for the head width. Shared memory: 227 KB with warpgroups, 163 KB without.
template <class Body>
auto with_config(const AttentionParams& p, Body&& body) {
  if (p.width <= 32) return body(BackwardConfig<WarpProducts, 32, 64, 128, 8>{});
  if (p.width <= 64) {
    return attention_has_groups() ? body(BackwardConfig<GroupProducts, 64, 64, 128, 8>{})
                                  : body(BackwardConfig<WarpProducts, 64, 64, 128, 4>{});
  }
  if (p.width <= 128) return body(BackwardConfig<WarpProducts, 128, 32, 128, 0>{});
  return body(BackwardConfig<WarpProducts, 256, 32, 64, 0>{});
}

}  // namespace

std::size_t attention_backward_tiled_scratch(const AttentionParams& p) {
  const Plan plan = with_config(p, [&]<class Config>(Config) { return plan_for<Config>(p); });
  return plan.stats + plan.query_sums + plan.key_sums;
}

void launch_attention_backward_tiled(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  auto* scratch = static_cast<unsigned char*>(g.scratch);
  auto* stats = reinterpret_cast<float*>(scratch);
  launch_attention_statistics(p, g.dy, stats, stream);
  with_config(p, [&]<class Config>(Config) {
    const Plan plan = plan_for<Config>(p);
    const BackwardKernelParams a{.p = p,
                                 .g = g,
                                 .stats = stats,
                                 .query_sums = reinterpret_cast<float*>(scratch + plan.stats),
                                 .key_sums = reinterpret_cast<float*>(scratch + plan.stats + plan.query_sums),
                                 .parts = plan.parts};
    if (p.bias || p.dropout_rate > 0)
      launch<Config, true>(a, stream);
    else
      launch<Config, false>(a, stream);
    if (a.parts > 1 && g.dq.data)
      add_parts<Config><<<ceil_div(p.queries, Config::kQueries) * p.batch * p.heads, Config::kThreads, 0, stream>>>(a);
  });
  if (g.dbias.data) launch_attention_bias_gradient(p, g, stats, stream);
}

}  // namespace attend::cuda
