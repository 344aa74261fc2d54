// Flash attention backward on the tensor cores (Dao 2023, section 3.2), deterministic: a block owns one head and walks
// its tiles of keys; for each it walks the queries that see it, keeping dk and dv in registers.
//
// Scores are computed transposed, keys by queries, so that weights and score gradients are already the left operands
// of dv += Pᵀ dy and dk += dSᵀ q; only dS goes through shared memory, for dq += dS k. The sums of dq over the tiles of
// keys are kept in f32 in scratch memory, in the order of the accumulator registers; the same thread adds to the same
// place each time, so there are no atomics and 5 products instead of the 7 of a separate pass for dq. The last tile
// writes dq itself. When there are too few heads to fill the GPU, several blocks share a head ("parts"), each with
// its own sums, and a last kernel adds those in order.
#include "attend/cuda/attention_mask.cuh"
#include "attend/cuda/attention_mma.cuh"
#include "attend/cuda/attention_wgmma.cuh"

namespace attend::cuda {
namespace {

template <class Products_, int kWidth_, int kQueries_, int kKeys_>
struct BackwardConfig {
  using Products = Products_;
  static constexpr int kWidth = kWidth_, kQueries = kQueries_, kKeys = kKeys_;
  static constexpr int kWarps = 8, kThreads = 256;
  static constexpr int kKeyWarps = kKeys / 16;             // 16 keys a warp
  static constexpr int kColumnWarps = kWarps / kKeyWarps;  // which share dk's and dv's columns among them
  static constexpr int kColumns = kWidth / kColumnWarps;
  static constexpr int kRowWarps = kQueries / 16;  // for dq: 16 queries a warp, and the columns shared
  static constexpr int kQueryColumns = kWidth * kRowWarps / kWarps;
  static constexpr bool kKeepKeys = kWidth <= 64;  // k and v stay in registers too
  using KeyTile = SharedTile<kKeys, kWidth>;
  using QueryTile = SharedTile<kQueries, kWidth>;
  using ScoreTile = SharedTile<kKeys, kQueries>;
  static constexpr int kStage = 2 * QueryTile::kBytes;  // q and dy
  static constexpr int kScoresAt = 2 * KeyTile::kBytes + 2 * kStage;
  static constexpr int kStatsAt = kScoresAt + ScoreTile::kBytes;
  static constexpr int kSharedBytes = kStatsAt + 4 * kQueries * 4 + 1024;  // + room to align
};

struct BackwardKernelParams {
  AttentionParams p;
  AttentionBackwardParams g;
  const float* stats;  // [2, H, query_rows]
  float* sums;         // [parts, B·H, query tiles, kQueries · kWidth]
  int parts;
};

// Does any key of tile n face any query of tile m? Part i of a head starts with tile i: what it never reaches stays
// unwritten.
template <class Config>
__device__ __forceinline__ bool tiles_meet(const AttentionSpan& span, int n, int m) {
  return (m + 1) * Config::kQueries > query_start(span, n * Config::kKeys);
}

// Transposed scores to weights; 0 outside the mask.  s [16 keys, queries]; lse, per query, in shared memory
template <int N>
__device__ __forceinline__ void weigh(float (&s)[N][4], float factor, const float* lse) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float2 shift = *reinterpret_cast<const float2*>(lse + 8 * j + 2 * (threadIdx.x & 3));
    s[j][0] = exp2_fast(fmaf(s[j][0], factor, -shift.x));
    s[j][1] = exp2_fast(fmaf(s[j][1], factor, -shift.y));
    s[j][2] = exp2_fast(fmaf(s[j][2], factor, -shift.x));
    s[j][3] = exp2_fast(fmaf(s[j][3], factor, -shift.y));
  }
}

template <int N>
__device__ __forceinline__ void mask_weights(float (&s)[N][4], int query, const int (&starts)[2]) {
  const int first = query + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (first + 8 * j + (e & 1) < starts[e >> 1]) s[j][e] = 0;
}

template <int N>
__device__ __forceinline__ void bias_transposed(float (&s)[N][4], float factor, const BiasReader& bias, int query,
                                                int key, const AttentionSpan& span) {
  const int first = query + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int t = first + 8 * j + (e & 1), at = key + 8 * (e >> 1);
      s[j][e] *= factor;
      if (bias.data && t < span.queries && at < span.visible) s[j][e] += kLog2E * bias.at(t, at);
    }
}

// Which of a tile's weights dropout keeps, four bits for each j.
template <int N>
__device__ __forceinline__ void draw_dropout(std::uint32_t (&keep)[N / 8 > 0 ? N / 8 : 1], const WeightDropout& dropout,
                                             int query, int key) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j % 8 == 0) keep[j / 8] = 0;
    keep[j / 8] |= dropout.keeps_columns(query + 8 * j + 2 * (threadIdx.x & 3), key) << (4 * (j % 8));
  }
}

// ds = p ∘ (dp - delta), into dp.
template <int N>
__device__ __forceinline__ void score_gradients(const float (&s)[N][4], float (&dp)[N][4], const float* delta) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float2 d = *reinterpret_cast<const float2*>(delta + 8 * j + 2 * (threadIdx.x & 3));
    dp[j][0] = s[j][0] * (dp[j][0] - d.x);
    dp[j][1] = s[j][1] * (dp[j][1] - d.y);
    dp[j][2] = s[j][2] * (dp[j][2] - d.x);
    dp[j][3] = s[j][3] * (dp[j][3] - d.y);
  }
}

// A left operand's registers to 16 rows of a tile.
template <class Tile, int K>
__device__ __forceinline__ void store_operand(const std::uint32_t (&a)[K][4], unsigned char* tile, int row) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int e = 0; e < 4; ++e)
      *reinterpret_cast<std::uint32_t*>(tile + Tile::offset(row + lane / 4 + 8 * (e & 1), 2 * k + (e >> 1)) +
                                        4 * (lane & 3)) = a[k][e];
}

// Where a thread's share of dq of query tile m lies among the sums; 32 · 4 floats apart for each 8 columns.
template <class Config>
__device__ __forceinline__ float* sums_of(const BackwardKernelParams& a, int part, int head, int m) {
  constexpr int kShare = Config::kQueryColumns / 8;
  const std::int64_t heads = static_cast<std::int64_t>(a.p.batch) * a.p.heads;
  const int tiles = ceil_div(a.p.queries, Config::kQueries), warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  return a.sums + ((part * heads + head) * tiles + m) * (Config::kQueries * Config::kWidth) + warp * kShare * 128 +
         lane * 4;
}

template <int N>
__device__ __forceinline__ void load_sums(float (&c)[N][4], const float* from) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const float4 x = __ldcg(reinterpret_cast<const float4*>(from + j * 128));
    c[j][0] = x.x, c[j][1] = x.y, c[j][2] = x.z, c[j][3] = x.w;
  }
}
template <int N>
__device__ __forceinline__ void store_sums(const float (&c)[N][4], float* to) {
#pragma unroll
  for (int j = 0; j < N; ++j)
    __stcg(reinterpret_cast<float4*>(to + j * 128), make_float4(c[j][0], c[j][1], c[j][2], c[j][3]));
}

// dq of a warp's 16 queries and N·8 columns to memory. Lanes of a row swap so that each has 8 neighbouring columns.
template <class Config, int N>
__device__ __forceinline__ void store_queries(const float (&c)[N][4], const BackwardKernelParams& a,
                                              const AttentionSpan& span, int h, int m) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const int first_column = warp / Config::kRowWarps * Config::kQueryColumns + 2 * (lane & 3);
  const int first_row = m * Config::kQueries + warp % Config::kRowWarps * 16 + lane / 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + 8 * r;
    if (row >= span.queries) continue;
    auto* to = static_cast<__nv_bfloat16*>(a.g.dq.data) + (span.query_row + row) * a.g.dq.stride + h * a.p.width;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const int column = first_column + 8 * j;
      if (column >= a.p.width) continue;
      auto* pair = reinterpret_cast<__nv_bfloat162*>(to + column);
      float2 x = make_float2(c[j][2 * r] * a.p.scale, c[j][2 * r + 1] * a.p.scale);
      if (a.g.dq.accumulate) {
        const float2 before = __bfloat1622float2(*pair);
        x.x += before.x, x.y += before.y;
      }
      *pair = __floats2bfloat162_rn(x.x, x.y);
    }
  }
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
    const std::uint32_t stages = v_tile + KeyTile::kBytes, score_tile = k_tile + Config::kScoresAt;
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
    const float* row_stats = a.stats + h * p.query_rows + span.query_row;

    const auto load_queries = [&](int m, int stage) {
      const int valid = span.queries - m * Config::kQueries;
      const std::uint32_t to = stages + stage * Config::kStage;
      const std::int64_t row = static_cast<std::int64_t>(m) * Config::kQueries;
      copy_rows_async<QueryTile, Config::kThreads>(to, q + row * p.q_stride, p.q_stride, valid, p.width);
      copy_rows_async<QueryTile, Config::kThreads>(to + QueryTile::kBytes, dy + row * dy_stride, dy_stride, valid,
                                                   p.width);
      if (threadIdx.x < 2 * Config::kQueries) {
        const int which = threadIdx.x / Config::kQueries, at = threadIdx.x % Config::kQueries;
        const bool in = at < valid;
        const float* from = row_stats + which * p.heads * p.query_rows + row + at;
        copy_async_word(shared_address(stats + stage * 2 * Config::kQueries + threadIdx.x), in ? from : a.stats, in);
      }
      copy_async_commit();
    };

    for (int n = part; n == 0 || n * Config::kKeys < span.keys; n += a.parts) {
      const int key = n * Config::kKeys;
      const int start = query_start(span, key);
      int m = n == 0 && a.parts == 1 ? 0 : start <= 0 ? 0 : min(start / Config::kQueries, query_tiles);
      float dk[Config::kColumns / 8][4], dv[Config::kColumns / 8][4];
      clear(dk);
      clear(dv);
      std::uint32_t k_rows[Config::kKeepKeys ? Config::kWidth / 16 : 1][4];
      std::uint32_t v_rows[Config::kKeepKeys ? Config::kWidth / 16 : 1][4];
      if (m < query_tiles) {
        const int valid = span.visible - key;
        copy_rows_async<KeyTile, Config::kThreads>(k_tile, k + key * p.k_stride, p.k_stride, valid, p.width);
        copy_rows_async<KeyTile, Config::kThreads>(v_tile, v + key * p.v_stride, p.v_stride, valid, p.width);
        load_queries(m, 0);
        if constexpr (Config::kKeepKeys) {
          copy_async_wait();
          __syncthreads();
          load_operand<KeyTile>(k_rows, k_tile, key_row);
          load_operand<KeyTile>(v_rows, v_tile, key_row);
        }
      }
      const int my_key = key + key_row + lane / 4;  // this thread's rows: my_key, my_key + 8
      const int starts[2] = {query_start(span, my_key), query_start(span, my_key + 8)};
      // Queries from `open` on see all keys of the tile; those before `closed` none of the rows that multiply together.
      const int open = query_start(span, key + Config::kKeys - 1);
      const int closed = query_start(span, key + (Products::kGroups ? key_row & ~63 : key_row));

      for (int stage = 0; m < query_tiles; ++m, stage ^= 1) {
        copy_async_wait();
        Products::publish();
        __syncthreads();
        if (m + 1 < query_tiles) load_queries(m + 1, stage ^ 1);
        const std::uint32_t q_tile = stages + stage * Config::kStage, dy_tile = q_tile + QueryTile::kBytes;
        const float *lse = stats + stage * 2 * Config::kQueries, *delta = lse + Config::kQueries;
        const int query = m * Config::kQueries;

        float dq[Config::kQueryColumns / 8][4];
        if (n == part)
          clear(dq);
        else
          load_sums(dq, sums_of<Config>(a, part, head, m));

        std::uint32_t ds_operand[Config::kQueries / 16][4];
        if (query + Config::kQueries > closed) {
          float s[kQueries8][4], dp[kQueries8][4];
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
          Products::template wait<1>(s);
          if constexpr (kExtras) bias_transposed(s, factor, bias, query, my_key, span);
          weigh(s, kExtras ? 1.0f : factor, lse);
          if (query < open) mask_weights(s, query, starts);
          std::uint32_t operand[Config::kQueries / 16][4];
          std::uint32_t keep[kQueries8 / 8 > 0 ? kQueries8 / 8 : 1];
          if (kExtras && dropout.on) {
            draw_dropout<kQueries8>(keep, dropout, query, my_key);
            float dropped[kQueries8][4];
#pragma unroll
            for (int j = 0; j < kQueries8; ++j)
#pragma unroll
              for (int e = 0; e < 4; ++e) dropped[j][e] = keep[j / 8] >> (4 * (j % 8) + e) & 1 ? s[j][e] : 0.0f;
            to_operand(dropped, operand);
          } else {
            to_operand(s, operand);
          }
          Products::template wait<0>(dp);
          Products::begin();
          Products::template add_times_columns<QueryTile>(dv, operand, dy_tile, column);
          Products::commit();
          if (kExtras && dropout.on) {
#pragma unroll
            for (int j = 0; j < kQueries8; ++j)
#pragma unroll
              for (int e = 0; e < 4; ++e)
                dp[j][e] = keep[j / 8] >> (4 * (j % 8) + e) & 1 ? dp[j][e] * dropout.scale : 0.0f;
          }
          score_gradients(s, dp, delta);
          to_operand(dp, ds_operand);
          Products::begin();
          Products::template add_times_columns<QueryTile>(dk, ds_operand, q_tile, column);
          Products::commit();
        } else {
#pragma unroll
          for (int i = 0; i < Config::kQueries / 16; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e) ds_operand[i][e] = 0;
        }
        if (column == 0) store_operand<ScoreTile>(ds_operand, shared + Config::kScoresAt, key_row);
        Products::publish();
        __syncthreads();
        Products::begin();
        Products::template add_columns_times_columns<ScoreTile, KeyTile>(
            dq, score_tile, warp % Config::kRowWarps * 16, k_tile, warp / Config::kRowWarps * Config::kQueryColumns);
        Products::commit();
        Products::template wait<0>(dq, dk, dv);
        const bool last = (n + a.parts) * Config::kKeys >= span.keys || !tiles_meet<Config>(span, n + a.parts, m);
        if (last && a.parts == 1) {
          if (a.g.dq.data) store_queries<Config>(dq, a, span, h, m);
        } else {
          store_sums(dq, sums_of<Config>(a, part, head, m));
        }
      }

      __syncthreads();  // k and v have been read: their place takes dk and dv on the way out
      const auto window = [&](const AttentionGradient& to) {
        return RowWindow{.data = static_cast<__nv_bfloat16*>(to.data) + (span.key_row + key) * to.stride + h * p.width,
                         .stride = to.stride,
                         .rows = span.keys - key,
                         .width = p.width,
                         .accumulate = to.accumulate};
      };
      const float k_factors[2] = {p.scale, p.scale}, v_factors[2] = {dropout.scale, dropout.scale};
      if (a.g.dk.data) store_rows<KeyTile>(dk, k_factors, shared, key_row, column / 8, window(a.g.dk));
      if (a.g.dv.data)
        store_rows<KeyTile>(dv, v_factors, shared + KeyTile::kBytes, key_row, column / 8, window(a.g.dv));
      __syncthreads();
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
    if (!tiles_meet<Config>(span, part, m)) continue;
    float x[Config::kQueryColumns / 8][4];
    load_sums(x, sums_of<Config>(a, part, head, m));
#pragma unroll
    for (int j = 0; j < Config::kQueryColumns / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[j][e] += x[j][e];
  }
  store_queries<Config>(sum, a, span, head % a.p.heads, m);
}

// Enough blocks for the largest GPUs, of a count that the sizes alone decide: results are the same on all of them.
constexpr int kWantedBlocks = 264;

template <class Config>
int parts_for(const AttentionParams& p) {
  const std::int64_t heads = static_cast<std::int64_t>(p.batch) * p.heads;
  const int tiles = ceil_div(p.keys, Config::kKeys);
  const auto wanted = static_cast<int>((kWantedBlocks + heads - 1) / heads);
  return wanted < 1 ? 1 : wanted > tiles ? (tiles > 1 ? tiles : 1) : wanted;
}

template <class Config>
std::size_t sums_bytes(const AttentionParams& p) {
  const int parts = parts_for<Config>(p);
  if (parts == 1 && p.keys <= Config::kKeys) return 0;  // one tile of keys: dq is complete at once
  return sizeof(float) * parts * p.batch * p.heads * ceil_div(p.queries, Config::kQueries) * Config::kQueries *
         static_cast<std::size_t>(Config::kWidth);
}

std::size_t stats_bytes(const AttentionParams& p) {
  return (2 * sizeof(float) * p.heads * static_cast<std::size_t>(p.query_rows) + 255) / 256 * 256;
}

template <class Config, bool kExtras>
void launch(const BackwardKernelParams& a, cudaStream_t stream) {
  const auto kernel = attention_backward<Config, kExtras>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  kernel<<<a.p.batch * a.p.heads * a.parts, Config::kThreads, Config::kSharedBytes, stream>>>(a);
}

// body(Config{}) for the head width.
template <class Body>
auto with_config(const AttentionParams& p, Body&& body) {
  if (p.width <= 32) return body(BackwardConfig<WarpProducts, 32, 64, 128>{});
  if (p.width <= 64) {
    return attention_has_groups() ? body(BackwardConfig<GroupProducts, 64, 64, 128>{})
                                  : body(BackwardConfig<WarpProducts, 64, 64, 128>{});
  }
  if (p.width <= 128) return body(BackwardConfig<WarpProducts, 128, 32, 128>{});
  return body(BackwardConfig<WarpProducts, 256, 32, 64>{});
}

}  // namespace

std::size_t attention_backward_tiled_scratch(const AttentionParams& p) {
  return stats_bytes(p) + with_config(p, [&]<class Config>(Config) { return sums_bytes<Config>(p); });
}

void launch_attention_backward_tiled(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  auto* stats = static_cast<float*>(g.scratch);
  auto* sums = reinterpret_cast<float*>(static_cast<unsigned char*>(g.scratch) + stats_bytes(p));
  launch_attention_statistics(p, g.dy, stats, stream);
  with_config(p, [&]<class Config>(Config) {
    const BackwardKernelParams a{.p = p, .g = g, .stats = stats, .sums = sums, .parts = parts_for<Config>(p)};
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
