// Attention forward for many short sequences under one bias: the windows of Swin (Liu et al. 2021, section 3.2), 16,384
// of 49 places in a first stage with 256 images. A block walks a chunk of the sequences that share a bias. Its threads
// read the bias of their scores once, and the tiles of the next sequence arrive while this one is computed. With a
// block for each sequence (attention_forward.cu) most instructions were those that read the bias, number by number.
#include "attend/cuda/attention/attention_forward.cuh"

namespace attend::cuda {
namespace {

// Blocks in all, so that the last ones leave few multiprocessors idle.
constexpr int kWantedBlocks = 32 * 132;

// A thread's scores of 16 queries and all keys, as pairs of bf16; -inf where there is no key.
template <class Config>
struct PackedBias {
  static constexpr int kTiles = Config::kKeys / 8;
  std::uint32_t pairs[kTiles][2];

  __device__ __forceinline__ PackedBias(const AttentionParams& p, int group, int h, int query) {
    const auto* bias = static_cast<const __nv_bfloat16*>(p.bias) +
                       (static_cast<std::int64_t>(group) * p.heads + h) * p.queries * p.keys;
    const int first = 2 * (threadIdx.x & 3);
    const auto at = [&](int t, int s) {
      if (s >= p.keys) return -INFINITY;
      return t < p.queries ? __bfloat162float(bias[t * p.keys + s]) : 0.0f;
    };
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r)
        pairs[j][r] = pack_bf16(at(query + 8 * r, first + 8 * j), at(query + 8 * r, first + 8 * j + 1));
  }
  // In powers of 2.
  __device__ __forceinline__ void add_to(float (&s)[kTiles][4], float factor) const {
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float low = __uint_as_float(pairs[j][r] << 16), high = __uint_as_float(pairs[j][r] & 0xffff0000u);
        s[j][2 * r] = fmaf(s[j][2 * r], factor, kLog2E * low);
        s[j][2 * r + 1] = fmaf(s[j][2 * r + 1], factor, kLog2E * high);
      }
  }
};

template <class Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocks)
    attention_forward_windows(const __grid_constant__ AttentionParams p, int chunks) {
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  constexpr std::uint32_t kStage = QueryTile::kBytes + 2 * KeyTile::kBytes;
  extern __shared__ __align__(128) unsigned char shared[];
  const std::uint32_t base = shared_address(shared);
  const int lane = threadIdx.x & 31, warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int h = static_cast<int>(blockIdx.x) % p.heads, of_head = static_cast<int>(blockIdx.x) / p.heads;
  const int chunk = of_head / p.groups, group = of_head % p.groups;
  const int sharing = p.batch / p.groups, each = ceil_div(sharing, chunks);
  const int begin = chunk * each, end = min(sharing, begin + each);
  const int query = 16 * warp + lane / 4;  // this thread's rows: query, query + 8

  const auto load = [&](int i) {
    const std::int64_t b = static_cast<std::int64_t>(i) * p.groups + group;
    const std::uint32_t to = base + (i & 1) * kStage;
    const auto rows = [&](const void* x, std::int64_t count, std::int64_t stride) {
      return static_cast<const __nv_bfloat16*>(x) + b * count * stride + h * p.width;
    };
    TileCopier<QueryTile, Config::kThreads>(rows(p.q, p.queries, p.q_stride), p.q_stride, p.width)(to, 0, p.queries);
    TileCopier<KeyTile, Config::kThreads>(rows(p.k, p.keys, p.k_stride), p.k_stride, p.width)(to + QueryTile::kBytes, 0,
                                                                                              p.keys);
    TileCopier<KeyTile, Config::kThreads>(rows(p.v, p.keys, p.v_stride), p.v_stride, p.width)(
        to + QueryTile::kBytes + KeyTile::kBytes, 0, p.keys);
    copy_async_commit();
  };
  if (begin < end) load(begin);
  const PackedBias<Config> bias(p, group, h, query);
  const float factor = p.scale * kLog2E;
  const std::int64_t y_stride = static_cast<std::int64_t>(p.heads) * p.width;

  for (int i = begin; i < end; ++i) {
    copy_async_wait();
    __syncthreads();  // the other tiles are done with, too
    if (i + 1 < end) load(i + 1);
    const std::uint32_t q_tile = base + (i & 1) * kStage, k_tile = q_tile + QueryTile::kBytes;
    const AttentionSpan span = span_of(p, i * p.groups + group);

    std::uint32_t q[Config::kWidth / 16][4];
    float s[Config::kKeys / 8][4];
    load_operand<QueryTile>(q, q_tile, 16 * warp);
    WarpProducts::template times_rows<KeyTile>(s, q, k_tile);
    bias.add_to(s, factor);
    RowState rows;
    float rescale[2], factors[2];
    softmax_step(s, rows, 1.0f, rescale);
    std::uint32_t weights[Config::kKeys / 16][4];
    to_operand(s, weights);
    float o[Config::kWidth / 8][4];
    clear(o);
    WarpProducts::template add_times_columns<KeyTile>(o, weights, k_tile + KeyTile::kBytes, 0);
    finish_rows(rows, 1.0f, 1.0f, p, span, h, query, factors);
    store_rows<QueryTile>(o, factors, shared + (i & 1) * kStage, 16 * warp, 0,
                          {.data = static_cast<__nv_bfloat16*>(p.y) + span.query_row * y_stride + h * p.width,
                           .stride = y_stride,
                           .rows = p.queries,
                           .width = p.width});
  }
}

template <class Config>
void launch(const AttentionParams& p, cudaStream_t stream) {
  constexpr int kBytes = 2 * (Config::QueryTile::kBytes + 2 * Config::KeyTile::kBytes);
  const auto kernel = attention_forward_windows<Config>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const int heads = p.groups * p.heads;
  const int chunks = min(p.batch / p.groups, ceil_div(kWantedBlocks, heads));
  kernel<<<chunks * heads, Config::kThreads, kBytes, stream>>>(p, chunks);
}

}  // namespace

bool attention_is_windows(const AttentionParams& p) {
  const bool all_see_all =
      !p.causal && !p.windowed && !p.key_lengths && !p.query_offsets && !p.rows_of_keys && p.dropout_rate <= 0;
  return p.bias && p.bias_bf16 && all_see_all && p.queries <= 64 && p.keys <= 64 && p.keys > 32 && p.width <= 64 &&
         p.batch >= 2 * p.groups;
}

void launch_attention_forward_windows(const AttentionParams& p, cudaStream_t stream) {
  if (p.width <= 32)
    launch<ForwardConfig<32, 4, 64, 4>>(p, stream);
  else
    launch<ForwardConfig<64, 4, 64, 3>>(p, stream);
}

}  // namespace attend::cuda
