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
#include "attend/cuda/attention/attention_backward_tiled.cuh"
#include "attend/cuda/capability.h"

namespace attend::cuda {
namespace {

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

// body(Config{}) for the head width.
template <class Body>
auto with_config(const AttentionParams& p, Body&& body) {
  if (p.width <= 32) return body(Backward32{});
  if (p.width <= 64) return has_wgmma() ? body(Backward64{}) : body(Backward64Warp{});
  return p.width <= 128 ? body(Backward128{}) : body(Backward256{});
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
    launch_backward_config<Config>(a, stream);
  });
  if (g.dbias.data) launch_attention_bias_gradient(p, g, stats, stream);
}

}  // namespace attend::cuda
