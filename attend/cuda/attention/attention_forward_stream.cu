// Flash attention forward for long texts and wide heads on Hopper (Shah et al. 2024): one warpgroup copies tiles with
// the copy engine, the others multiply 64 queries each, with the products of two tiles under way at once as in
// attention_forward_groups.cu. Blocks stay and take one piece of work after another, so that the keys of the next
// arrive while the last one ends: a piece is a block of queries from the end of a head together with one from its
// beginning, which in a causal head makes all pieces alike.
#include "attend/cuda/attention/attention_backward.cuh"
#include "attend/cuda/attention/attention_forward.cuh"
#include "attend/cuda/attention/attention_pipeline.cuh"
#include "attend/cuda/tensor_map.h"

// Constants of a configuration that older GPUs do not read are no mistake.
#pragma nv_diag_suppress 177

namespace attend::cuda {
namespace {

// Three groups have room for narrow heads, two for wide ones.
template <int kWidth_>
struct StreamConfig {
  static constexpr int kWidth = kWidth_, kGroups = kWidth <= 64 ? 3 : 2, kKeys = 128;
  static constexpr int kThreads = 128 * (kGroups + 1), kQueries = 64 * kGroups;
  static constexpr int kTake = kGroups == 3 ? 160 : 240, kLeave = kGroups == 3 ? 32 : 24;  // registers
  static constexpr bool kInTurn = kGroups == 2;  // groups issue their products in turn: one multiplies, one weighs
  static constexpr int kStages = 2;
  using QueryTile = SharedTile<kQueries, kWidth>;
  using KeyTile = SharedTile<kKeys, kWidth>;
  static constexpr int kKeysAt = QueryTile::kBytes, kValuesAt = kKeysAt + kStages * KeyTile::kBytes;
  static constexpr int kBarriersAt = kValuesAt + kStages * KeyTile::kBytes;
  static constexpr int kSharedBytes = kBarriersAt + 128 + 1024;  // + room to align
};

struct StreamParams {
  CUtensorMap q, k, v;
  AttentionParams p;
  int pieces;     // of a head
  bool in_pairs;  // a piece is two blocks of queries
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Config>
struct Shared {
  unsigned char* base;

  __device__ __forceinline__ std::uint32_t at(int bytes) const { return shared_address(base) + bytes; }
  __device__ __forceinline__ std::uint32_t barrier(int i) const { return at(Config::kBarriersAt + 8 * i); }
  __device__ __forceinline__ std::uint32_t q_full() const { return barrier(0); }
  __device__ __forceinline__ std::uint32_t q_empty() const { return barrier(1); }
  __device__ __forceinline__ std::uint32_t k_full(int stage) const { return barrier(2 + stage); }
  __device__ __forceinline__ std::uint32_t k_empty(int stage) const { return barrier(4 + stage); }
  __device__ __forceinline__ std::uint32_t v_full(int stage) const { return barrier(6 + stage); }
  __device__ __forceinline__ std::uint32_t v_empty(int stage) const { return barrier(8 + stage); }
  __device__ __forceinline__ int keys_at(int stage) const { return Config::kKeysAt + stage * Config::KeyTile::kBytes; }
  __device__ __forceinline__ int values_at(int stage) const {
    return Config::kValuesAt + stage * Config::KeyTile::kBytes;
  }

  __device__ __forceinline__ void begin() const {
    if (threadIdx.x == 0) {
      constexpr int kWarps = 4 * Config::kGroups;
      barrier_init(q_full(), 1);
      barrier_init(q_empty(), kWarps);
      for (int stage = 0; stage < Config::kStages; ++stage) {
        barrier_init(k_full(stage), 1);
        barrier_init(v_full(stage), 1);
        barrier_init(k_empty(stage), kWarps);
        barrier_init(v_empty(stage), kWarps);
      }
      barriers_are_ready();
    }
    __syncthreads();
  }
};

// body(block) for each block of queries that this block of threads takes, in order.
template <class Config, class Body>
__device__ __forceinline__ void for_each_block(const StreamParams& a, Body&& body) {
  const int heads = a.p.batch * a.p.heads, blocks = ForwardBlock<Config>::blocks_of(a.p);
  for (int piece = blockIdx.x; piece < a.pieces * heads; piece += gridDim.x) {
    const int head = piece / a.pieces, index = piece % a.pieces, other = blocks - 1 - index;
    for (int half = 0; half < (a.in_pairs && other != index ? 2 : 1); ++half) {
      const ForwardBlock<Config> block(a.p, head, half == 0 ? other : index);
      if (block.queries > 0) body(block);
    }
  }
}

template <class Config>
__device__ __forceinline__ KeyTiles<Config::kKeys> walk_of(const StreamParams& a, const ForwardBlock<Config>& block) {
  return KeyTiles<Config::kKeys>(window_of(a.p, block.span), block.first, block.first + block.queries - 1);
}

template <class Tile>
__device__ __forceinline__ void copy_panels(std::uint32_t to, const CUtensorMap& from, int head, std::int64_t row,
                                            std::uint32_t barrier) {
  barrier_expect(barrier, Tile::kBytes);
#pragma unroll
  for (int panel = 0; panel < Tile::kColumns / 64; ++panel)
    copy_head_tile(to + panel * Tile::kPanelBytes, from, panel * 64, head, static_cast<int>(row), barrier);
}

// One thread.
template <class Config>
__device__ __forceinline__ void copy_tiles(const StreamParams& a, const Shared<Config>& shared) {
  using KeyTile = typename Config::KeyTile;
  Stage<Config::kStages> stage;
  std::uint32_t q_phase = 0;
  for_each_block<Config>(a, [&](const ForwardBlock<Config>& block) {
    const KeyTiles<Config::kKeys> walk = walk_of(a, block);
    if (walk.count == 0) return;
    barrier_wait(shared.q_empty(), q_phase ^ 1);
    q_phase ^= 1;
    copy_panels<typename Config::QueryTile>(shared.at(0), a.q, block.h, block.span.query_row + block.first,
                                            shared.q_full());
    for (int n = walk.count - 1; n >= 0; --n, stage.advance()) {
      const std::int64_t row = block.span.key_row + walk.tile(n) * Config::kKeys;
      barrier_wait(shared.k_empty(stage.index), stage.phase ^ 1);
      copy_panels<KeyTile>(shared.at(shared.keys_at(stage.index)), a.k, block.h, row, shared.k_full(stage.index));
      barrier_wait(shared.v_empty(stage.index), stage.phase ^ 1);
      copy_panels<KeyTile>(shared.at(shared.values_at(stage.index)), a.v, block.h, row, shared.v_full(stage.index));
    }
  });
}

// 64 queries of each block, by one warpgroup.
template <class Config, bool kHides>
class QueryGroup {
 public:
  __device__ __forceinline__ QueryGroup(const StreamParams& a, const Shared<Config>& shared)
      : a_(a),
        shared_(shared),
        lane_(threadIdx.x & 31),
        warp_(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32 - 4, 0)) {
    if (Config::kInTurn && warp_ >= 4) give_turn();
  }

  __device__ __forceinline__ void run(const ForwardBlock<Config>& block) {
    const Window window = window_of(a_.p, block.span);
    const KeyTiles<Config::kKeys> walk = walk_of(a_, block);
    const int together = block.first + warp_ / 4 * 64, query = block.first + 16 * warp_ + lane_ / 4;
    const WindowRows shown(window, query, together, together + 63);
    const float factor = a_.p.scale * kLog2E;
    RowState rows;
    float o[Config::kWidth / 8][4], rescale[2];
    std::uint32_t weights[Config::kKeys / 16][4];
    clear(o);
    if (walk.count > 0) {
      barrier_wait(shared_.q_full(), q_phase_);
      q_phase_ ^= 1;
      {
        float s[Config::kKeys / 8][4];
        barrier_wait(shared_.k_full(k_.index), k_.phase);
        take_turn();
        Products::begin();
        multiply_keys(s);
        Products::commit();
        give_turn();
        Products::template wait<0>(s);
        release(shared_.k_empty(k_.index));
        k_.advance();
        weigh(s, rows, rescale, block, shown, walk.tile(walk.count - 1) * Config::kKeys, factor);
        to_operand(s, weights);
      }
      for (int n = walk.count - 2; n >= 0; --n) {
        float s[Config::kKeys / 8][4];
        barrier_wait(shared_.k_full(k_.index), k_.phase);
        wait_for_values(block, walk.tile(n + 1));
        take_turn();
        Products::begin();
        multiply_keys(s);
        Products::commit();
        multiply_values(o, weights);
        Products::commit();
        give_turn();
        Products::template wait<1>(s);
        release(shared_.k_empty(k_.index));
        k_.advance();
        weigh(s, rows, rescale, block, shown, walk.tile(n) * Config::kKeys, factor);
        Products::hold(s);  // the softmax comes before the wait, under the product
        Products::template wait<0>(o);
        release(shared_.v_empty(v_.index));
        v_.advance();
        if (!__all_sync(0xffffffffu, rescale[0] == 1.0f && rescale[1] == 1.0f)) scale_rows(o, rescale);
        to_operand(s, weights);
      }
      release(shared_.q_empty());
      wait_for_values(block, walk.tile(0));
      Products::begin();
      multiply_values(o, weights);
      Products::commit();
      Products::template wait<0>(o);
      release(shared_.v_empty(v_.index));
      v_.advance();
    }
    float factors[2];
    finish_rows(rows, factor, 1.0f, a_.p, block.span, block.h, query, factors);
    scale_rows(o, factors);
    store_direct(o, 1.0f, 16 * warp_, 0, block.window(a_.p));
  }

 private:
  using Products = GroupProducts;
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;

  __device__ __forceinline__ void release(std::uint32_t barrier) const {
    if (lane_ == 0) barrier_arrive(barrier);
  }
  // Two groups' turns: a group waits at its own barrier for its 128 threads and the other's word.
  __device__ __forceinline__ void take_turn() const {
    if constexpr (Config::kInTurn) asm volatile("barrier.sync %0, 256;" ::"r"(8 + warp_ / 4) : "memory");
  }
  __device__ __forceinline__ void give_turn() const {
    if constexpr (Config::kInTurn) asm volatile("barrier.arrive %0, 256;" ::"r"(9 - warp_ / 4) : "memory");
  }

  __device__ __forceinline__ void wait_for_values(const ForwardBlock<Config>& block, int tile) const {
    barrier_wait(shared_.v_full(v_.index), v_.phase);
    const int valid = block.span.visible - tile * Config::kKeys;
    if (valid >= Config::kKeys) return;
    zero_rows<KeyTile>(shared_.base + shared_.values_at(v_.index), valid);
    Products::publish();
    group_barrier(warp_ / 4);
  }
  __device__ __forceinline__ void multiply_keys(float (&s)[Config::kKeys / 8][4]) const {
    Products::template rows_times_rows<QueryTile, KeyTile>(s, shared_.at(0), 16 * warp_,
                                                           shared_.at(shared_.keys_at(k_.index)));
  }
  __device__ __forceinline__ void multiply_values(float (&o)[Config::kWidth / 8][4],
                                                  const std::uint32_t (&weights)[Config::kKeys / 16][4]) const {
    Products::template add_times_columns<KeyTile>(o, weights, shared_.at(shared_.values_at(v_.index)), 0);
  }
  __device__ __forceinline__ void weigh(float (&s)[Config::kKeys / 8][4], RowState& rows, float (&rescale)[2],
                                        const ForwardBlock<Config>& block, const WindowRows& shown, int key,
                                        float factor) const {
    if (shown.cut(key, Config::kKeys)) mask_scores(s, key, shown);
    if constexpr (kHides) {
      const HiddenKeys hidden(a_.p, block.span);
      const int top = block.first + 16 * warp_;
      hide_scores(s, HiddenTile<Config::kKeys>(hidden, key, top), hidden, top + lane_ / 4, key);
    }
    softmax_step(s, rows, factor, rescale);
  }

  const StreamParams& a_;
  const Shared<Config>& shared_;
  int lane_, warp_;
  std::uint32_t q_phase_ = 0;
  Stage<Config::kStages> k_, v_;
};

#endif

// kHides: there is a seen_from.
template <class Config, bool kHides>
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_forward_stream(const __grid_constant__ StreamParams a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char raw_shared[];
  const Shared<Config> shared{raw_shared + ((1024 - (shared_address(raw_shared) & 1023)) & 1023)};
  shared.begin();
  if (threadIdx.x < 128) {
    fewer_registers<Config::kLeave>();
    if (threadIdx.x == 0) copy_tiles(a, shared);
  } else {
    more_registers<Config::kTake>();
    QueryGroup<Config, kHides> group(a, shared);
    for_each_block<Config>(a, [&](const ForwardBlock<Config>& block) { group.run(block); });
  }
#endif
}

int multiprocessors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <class Config>
void launch(const AttentionParams& p, cudaStream_t stream) {
  const int heads = p.batch * p.heads, blocks = ceil_div(p.queries, Config::kQueries);
  const int room = multiprocessors();
  const bool in_pairs = heads * blocks > room;
  const int pieces = in_pairs ? (blocks + 1) / 2 : blocks;
  const auto heads_of = [&](const void* data, std::int64_t rows, std::int64_t stride, int tile_rows) {
    return tensor_map_of_heads(
        {.data = data, .rows = rows, .heads = p.heads, .width = p.width, .stride = stride, .tile_rows = tile_rows});
  };
  const StreamParams a{.q = heads_of(p.q, p.query_rows, p.q_stride, Config::kQueries),
                       .k = heads_of(p.k, p.key_rows, p.k_stride, Config::kKeys),
                       .v = heads_of(p.v, p.key_rows, p.v_stride, Config::kKeys),
                       .p = p,
                       .pieces = pieces,
                       .in_pairs = in_pairs};
  const auto kernel = p.seen_from ? attention_forward_stream<Config, true> : attention_forward_stream<Config, false>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  const int grid = heads * pieces < room ? heads * pieces : room;
  kernel<<<grid, Config::kThreads, Config::kSharedBytes, stream>>>(a);
}

}  // namespace

void launch_attention_forward_stream(const AttentionParams& p, cudaStream_t stream) {
  p.width <= 64 ? launch<StreamConfig<64>>(p, stream) : launch<StreamConfig<128>>(p, stream);
}

}  // namespace attend::cuda
