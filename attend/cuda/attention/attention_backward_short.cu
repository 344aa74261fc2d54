// Attention backward for short sequences, at most kSide queries and keys: a block does one head at once, without loops.
// Sentences of 20 to 60 words come in thousands of such heads; in the tiles of attention_backward.cu, one block of 227
// KB per multiprocessor, most of the work was on rows that are not there and nothing hid the way to memory and back
// (B 800, H 8, T 32, D 64 with dropout: 0.52 ms). Here many blocks share a multiprocessor and hide each other's waits.
//
// As there, scores are transposed, 16 keys per warp, so that dv and dk take weights and score gradients from registers;
// dS goes through shared memory for dq, 16 queries per warp.
//
// The gradient of a bias is the sum of dS over the sequences that share it: the windows of an image and a batch, tens
// of thousands. A block walks a chunk of them and adds in shared memory, so a sum leaves the block instead of each
// part.
#include "attend/cuda/attention/attention_backward.cuh"
#include "attend/cuda/element.cuh"

namespace attend::cuda {
namespace {

template <int kWidth_, int kSide_, int kBlocks_>
struct ShortConfig {
  static constexpr int kWidth = kWidth_, kSide = kSide_;
  static constexpr int kBlocks = kBlocks_;  // on a multiprocessor, for the register limit
  static constexpr int kThreads = 2 * kSide;
  using Tile = SharedTile<kSide, kWidth>;
  using ScoreTile = SharedTile<kSide, kSide>;
  static constexpr int kScoresAt = 4 * Tile::kBytes;
  static constexpr int kStatsAt = kScoresAt + ScoreTile::kBytes;
  static constexpr int kBiasAt = kStatsAt + 2 * kSide * 4;
  static constexpr int kBiasPairsAt = kBiasAt + kSide * kSide * 4;
  static constexpr int shared_bytes(bool bias) { return bias ? kBiasPairsAt + kSide * kSide * 2 : kBiasAt; }
};

// Of each query the log-sum-exp in base 2 and the row sum of dy ∘ y (see attention_statistics.cu), two threads per row.
// Rows that are not there get weights of zero.
template <class Config>
__device__ __forceinline__ void prepare_rows(const AttentionParams& p, const __nv_bfloat16* dy_all,
                                             const AttentionSpan& span, int h, float* lse, float* delta) {
  const int row = threadIdx.x / 2;
  float sum = 0, shift = INFINITY;
  if (row < span.queries) {
    const std::int64_t at = ((span.query_row + row) * p.heads + h) * p.width;
    const auto* y = static_cast<const __nv_bfloat16*>(p.y) + at;
    const __nv_bfloat16* dy = dy_all + at;
#pragma unroll
    for (int i = 0; i < Config::kWidth; i += 16) {
      const int column = i + 8 * (threadIdx.x & 1);
      if (column >= p.width) break;
      float a[8], b[8];
      load(y + column, a);
      load(dy + column, b);
#pragma unroll
      for (int e = 0; e < 8; ++e) sum = fmaf(a[e], b[e], sum);
    }
    const float natural = p.lse[(span.query_row + row) * p.heads + h];
    if (natural != -INFINITY) shift = natural * kLog2E;
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  if ((threadIdx.x & 1) == 0) lse[row] = shift, delta[row] = sum;
}

// A block's sums of score gradients, [16 keys, queries] a warp: in the order of the registers, so each thread reads and
// writes places of its own, and a warp all banks.
template <class Config>
struct BiasSums {
  static constexpr int kTiles = Config::kSide / 8;
  float* own;  // of this thread

  __device__ __forceinline__ explicit BiasSums(float* sums) : own(sums + threadIdx.x) {
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i) own[i * Config::kThreads] = 0;
  }
  __device__ __forceinline__ void add(const float (&ds)[kTiles][4]) {
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i) own[i * Config::kThreads] += ds[i / 4][i % 4];
  }
  // To [T, S], which is either the gradient itself or a part of its sum. key: the first of this thread's.
  __device__ __forceinline__ void store(const AttentionParams& p, const AttentionGradient& to, bool bf16,
                                        std::int64_t base, int key) const {
    const int first = 2 * (threadIdx.x & 3);
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i) {
      const int t = first + i / 4 * 8 + (i & 1), at = key + 8 * (i >> 1 & 1);
      if (t >= p.queries || at >= p.keys) continue;
      const std::int64_t place = base + static_cast<std::int64_t>(t) * p.keys + at;
      const float sum = own[i * Config::kThreads];
      if (bf16) {
        auto* y = static_cast<__nv_bfloat16*>(to.data) + place;
        *y = __float2bfloat16(sum + (to.accumulate ? __bfloat162float(*y) : 0.0f));
      } else {
        float* y = static_cast<float*>(to.data) + place;
        *y = sum + (to.accumulate ? *y : 0.0f);
      }
    }
  }
};

// The bias of a block's transposed scores in bf16, in the same order: two queries of a key are a word. -inf where there
// is no key.
template <class Config>
struct BiasPairs {
  static constexpr int kTiles = Config::kSide / 8;
  std::uint32_t* own;

  __device__ __forceinline__ BiasPairs(std::uint32_t* pairs, const AttentionParams& p, int group, int h, int key)
      : own(pairs + threadIdx.x) {
    const auto* bias = static_cast<const __nv_bfloat16*>(p.bias) +
                       (static_cast<std::int64_t>(group) * p.heads + h) * p.queries * p.keys;
    const int first = 2 * (threadIdx.x & 3);
    const auto value = [&](int t, int s) {
      if (s >= p.keys) return -INFINITY;
      return t < p.queries ? __bfloat162float(bias[t * p.keys + s]) : 0.0f;
    };
    if (!p.bias_bf16) return;
#pragma unroll
    for (int i = 0; i < 2 * kTiles; ++i) {
      const int t = first + i / 2 * 8, s = key + 8 * (i & 1);
      own[i * Config::kThreads] = pack_bf16(value(t, s), value(t + 1, s));
    }
  }
  // In powers of 2.
  __device__ __forceinline__ void add_to(float (&s)[kTiles][4], float factor) const {
#pragma unroll
    for (int i = 0; i < 2 * kTiles; ++i) {
      const std::uint32_t pair = own[i * Config::kThreads];
      float(&of_key)[4] = s[i / 2];
      const int e = 2 * (i & 1);
      of_key[e] = fmaf(of_key[e], factor, kLog2E * __uint_as_float(pair << 16));
      of_key[e + 1] = fmaf(of_key[e + 1], factor, kLog2E * __uint_as_float(pair & 0xffff0000u));
    }
  }
};

// What a block has of a bias whose gradient is wanted.
template <class Config>
struct SharedBias {
  BiasSums<Config> sums;
  BiasPairs<Config> pairs;
};

// Head h of sequence b. shared_bias: null where no gradient of a bias is wanted.
template <class Config, bool kExtras>
__device__ __forceinline__ void one_head(const AttentionParams& p, const AttentionBackwardParams& g,
                                         unsigned char* shared, int b, int h, SharedBias<Config>* shared_bias) {
  using Tile = typename Config::Tile;
  using ScoreTile = typename Config::ScoreTile;
  constexpr int kSide8 = Config::kSide / 8, kWidth8 = Config::kWidth / 8;
  const std::uint32_t q_tile = shared_address(shared), dy_tile = q_tile + Tile::kBytes;
  const std::uint32_t k_tile = dy_tile + Tile::kBytes, v_tile = k_tile + Tile::kBytes;
  const std::uint32_t score_tile = q_tile + Config::kScoresAt;
  float *lse = reinterpret_cast<float*>(shared + Config::kStatsAt), *delta = lse + Config::kSide;
  const int lane = threadIdx.x & 31, row = static_cast<int>(threadIdx.x) / 32 * 16;  // of this warp's keys and queries
  const AttentionSpan span = span_of(p, b);

  const std::int64_t dy_stride = static_cast<std::int64_t>(p.heads) * p.width;
  const auto copy = [&](std::uint32_t tile, const void* from, std::int64_t first, std::int64_t stride, int valid) {
    const auto* rows = static_cast<const __nv_bfloat16*>(from) + first * stride + h * p.width;
    TileCopier<Tile, Config::kThreads>(rows, stride, p.width)(tile, 0, valid);
  };
  copy(q_tile, p.q, span.query_row, p.q_stride, span.queries);
  copy(dy_tile, g.dy, span.query_row, dy_stride, span.queries);
  copy(k_tile, p.k, span.key_row, p.k_stride, span.visible);
  copy(v_tile, p.v, span.key_row, p.v_stride, span.visible);
  copy_async_commit();
  prepare_rows<Config>(p, static_cast<const __nv_bfloat16*>(g.dy), span, h, lse, delta);
  copy_async_wait();
  __syncthreads();

  const auto window = [&](const AttentionGradient& to, std::int64_t first, int rows) {
    return RowWindow{.data = static_cast<__nv_bfloat16*>(to.data) + first * to.stride + h * p.width,
                     .stride = to.stride,
                     .rows = rows,
                     .width = p.width,
                     .accumulate = to.accumulate};
  };
  std::uint32_t ds_operand[Config::kSide / 16][4] = {};
  if (row < span.keys) {
    const WeightDropout dropout(p, b, h);
    const float factor = p.scale * kLog2E;
    const int my_key = row + lane / 4;  // this thread's rows: my_key, my_key + 8
    const int starts[2] = {query_start(span, my_key), query_start(span, my_key + 8)};
    float s[kSide8][4], dp[kSide8][4];
    WarpProducts::rows_times_rows<Tile, Tile>(s, k_tile, row, q_tile);
    if (shared_bias && p.bias_bf16)
      shared_bias->pairs.add_to(s, factor);
    else if constexpr (kExtras)
      bias_transposed(s, factor, BiasReader(p, b, h), 0, my_key, span);
    weigh(s, kExtras ? 1.0f : factor, lse);
    if (query_start(span, row + 15) > 0) mask_weights(s, 0, starts);
    WarpProducts::rows_times_rows<Tile, Tile>(dp, v_tile, row, dy_tile);
    unsigned char* way_out = shared + 3 * Tile::kBytes;  // the warp's rows of v, which nobody else reads
    {
      std::uint32_t operand[Config::kSide / 16][4];
      if (kExtras && dropout.on) {
        const std::uint32_t keep = dropout.keeps_columns<kSide8>(0, my_key);
        to_operand_dropped(s, keep, operand);
        drop_gradients(dp, keep, dropout.scale);
      } else {
        to_operand(s, operand);
      }
      float dv[kWidth8][4];
      clear(dv);
      WarpProducts::add_times_columns<Tile>(dv, operand, dy_tile, 0);
      const float factors[2] = {dropout.scale, dropout.scale};
      if (g.dv.data) store_rows<Tile>(dv, factors, way_out, row, 0, window(g.dv, span.key_row, span.keys));
    }
    score_gradients(s, dp, delta);
    if (shared_bias) shared_bias->sums.add(dp);
    to_operand(dp, ds_operand);
    float dk[kWidth8][4];
    clear(dk);
    WarpProducts::add_times_columns<Tile>(dk, ds_operand, q_tile, 0);
    const float factors[2] = {p.scale, p.scale};
    if (g.dk.data) store_rows<Tile>(dk, factors, way_out, row, 0, window(g.dk, span.key_row, span.keys));
  }
  store_operand<ScoreTile>(ds_operand, shared + Config::kScoresAt, row);
  __syncthreads();
  if (row >= span.queries || !g.dq.data) return;
  float dq[kWidth8][4];
  clear(dq);
  WarpProducts::add_columns_times_columns<ScoreTile, Tile>(dq, score_tile, row, k_tile, 0);
  store_direct(dq, p.scale, row, 0, window(g.dq, span.query_row, span.queries));
}

// A block a head; with the gradient of a bias, a block for a head of a chunk of the sequences that share it.
template <class Config, bool kExtras, bool kBias>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocks)
    attention_backward_short(const __grid_constant__ AttentionParams p,
                             const __grid_constant__ AttentionBackwardParams g) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int of_head = static_cast<int>(blockIdx.x) / p.heads, h = static_cast<int>(blockIdx.x) % p.heads;
  if constexpr (kBias) {
    const int thread = static_cast<int>(threadIdx.x), key = thread / 32 * 16 + thread % 32 / 4;
    const int chunk = of_head / p.groups, group = of_head % p.groups;
    const int sharing = p.batch / p.groups, each = ceil_div(sharing, g.bias_chunks);
    SharedBias<Config> bias{
        BiasSums<Config>(reinterpret_cast<float*>(shared + Config::kBiasAt)),
        BiasPairs<Config>(reinterpret_cast<std::uint32_t*>(shared + Config::kBiasPairsAt), p, group, h, key)};
    for (int i = chunk * each; i < min(sharing, (chunk + 1) * each); ++i) {
      one_head<Config, kExtras>(p, g, shared, i * p.groups + group, h, &bias);
      __syncthreads();  // the tiles may be written again
    }
    bias.sums.store(p, g.dbias, g.dbias_bf16, static_cast<std::int64_t>(blockIdx.x) * p.queries * p.keys, key);
  } else {
    one_head<Config, kExtras>(p, g, shared, of_head, h, nullptr);
  }
}

template <class Config, bool kExtras, bool kBias>
void launch(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  const auto kernel = attention_backward_short<Config, kExtras, kBias>;
  constexpr int kBytes = Config::shared_bytes(kBias);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const int blocks = (kBias ? g.bias_chunks * p.groups : p.batch) * p.heads;
  kernel<<<blocks, Config::kThreads, kBytes, stream>>>(p, g);
}

template <class Config>
void launch_config(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  if (g.dbias.data)
    launch<Config, true, true>(p, g, stream);
  else if (p.bias || p.dropout_rate > 0)
    launch<Config, true, false>(p, g, stream);
  else
    launch<Config, false, false>(p, g, stream);
}

}  // namespace

void launch_attention_backward_short(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  const bool half = p.queries <= 32 && p.keys <= 32;
  if (p.width <= 32)
    half ? launch_config<ShortConfig<32, 32, 12>>(p, g, stream) : launch_config<ShortConfig<32, 64, 4>>(p, g, stream);
  else
    half ? launch_config<ShortConfig<64, 32, 10>>(p, g, stream) : launch_config<ShortConfig<64, 64, 4>>(p, g, stream);
}

}  // namespace attend::cuda
