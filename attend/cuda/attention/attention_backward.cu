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
#include "attend/cuda/attention/attention_backward_block.cuh"
#include "attend/cuda/capability.h"

namespace attend::cuda {
namespace {

template <class Config, bool kExtras, bool kWindow>
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward(const __grid_constant__ BackwardKernelParams a) {
  if constexpr (!Config::Products::kGroups || kHasWgmma) {
    extern __shared__ unsigned char raw_shared[];
    BackwardBlock<Config, kExtras, kWindow>(a, raw_shared + ((1024 - (shared_address(raw_shared) & 1023)) & 1023))
        .run();
  }
}

// dq = the parts' sums, in order. One block for each query tile of a head, with the threads of the kernel above.
template <class Config>
__global__ void __launch_bounds__(Config::kThreads) add_parts(const __grid_constant__ BackwardKernelParams a) {
  const int tiles = ceil_div(a.p.queries, Config::kQueries);
  const int head = blockIdx.x / tiles, m = blockIdx.x % tiles;
  const AttentionSpan span = span_of(a.p, head / a.p.heads);
  if (m * Config::kQueries >= span.queries) return;
  const Window window = window_of(a.p, span);
  float sum[Config::kQueryColumns / 8][4];
  clear(sum);
  for (int part = 0; part < a.parts && (a.p.windowed || part * Config::kKeys < span.keys); ++part) {
    if (a.p.windowed ? !part_has<Config>(a, window, span.queries, part, m)
                     : first_tile<Config>(span, a.parts, part) > m)
      continue;
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
  if (plan.parts > 1 || (Config::kChunk == 0 && (key_tiles > 1 || p.windowed)))
    plan.query_sums = sizeof(float) * plan.parts * heads * query_tiles * Config::kTileFloats;
  if (Config::kChunk > 0 && query_tiles > Config::kChunk)
    plan.key_sums = sizeof(float) * heads * key_tiles * 2 * Config::kKeys * Config::kWidth;
  return plan;
}

bool has_extras(const AttentionParams& p) { return p.bias || p.dropout_rate > 0; }

template <class Config, bool kExtras, bool kWindow>
void launch(const BackwardKernelParams& a, cudaStream_t stream) {
  const auto kernel = attention_backward<Config, kExtras, kWindow>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  kernel<<<a.p.batch * a.p.heads * a.parts, Config::kThreads, Config::kSharedBytes, stream>>>(a);
}

// body(Config{}) for the head width. Shared memory: 227 KB with warpgroups, 163 KB without.
template <class Body>
auto with_config(const AttentionParams& p, Body&& body) {
  if (p.width <= 32) return body(BackwardConfig<WarpProducts, 32, 64, 128, 8>{});
  if (p.width <= 64) {
    return has_wgmma() ? body(BackwardConfig<GroupProducts, 64, 64, 128, 8>{})
                       : body(BackwardConfig<WarpProducts, 64, 64, 128, 4>{});
  }
  if (p.width <= 128) {
    // Two groups share dk's and dv's columns and each compute the scores, 7 products for 5: with 128 keys the sums of
    // one group would not fit the registers. Still 10 % faster than without groups (1.08 ms against 1.19 at B 32, H 8,
    // T 1024, D 128, causal).
    return has_wgmma() ? body(BackwardConfig<GroupProducts, 128, 64, 64, 0>{})
                       : body(BackwardConfig<WarpProducts, 128, 32, 128, 0>{});
  }
  return body(BackwardConfig<WarpProducts, 256, 32, 64, 0>{});
}

}  // namespace

std::size_t attention_backward_tiled_scratch(const AttentionParams& p) {
  const Plan plan = with_config(p, [&]<class Config>(Config) { return plan_for<Config>(p); });
  return plan.stats + plan.query_sums + plan.key_sums;
}

bool attention_backward_tiled_leaves_sums(const AttentionParams& p) {
  return with_config(p, [&]<class Config>(Config) {
    return Config::kLeavesSums && !has_extras(p) && !p.windowed && plan_for<Config>(p).parts == 1;
  });
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
    if (p.windowed)
      has_extras(p) ? launch<Config, true, true>(a, stream) : launch<Config, false, true>(a, stream);
    else
      has_extras(p) ? launch<Config, true, false>(a, stream) : launch<Config, false, false>(a, stream);
    if ((a.parts > 1 || (p.windowed && Config::kChunk == 0)) && g.dq.data)
      add_parts<Config><<<ceil_div(p.queries, Config::kQueries) * p.batch * p.heads, Config::kThreads, 0, stream>>>(a);
  });
  if (g.dbias.data) launch_attention_bias_gradient(p, g, stats, stream);
}

}  // namespace attend::cuda
