// Flash attention backward for long texts and wide heads on Hopper (Shah et al. 2024): a block owns 128 keys of a head
// and walks the queries that see them. One warpgroup copies (tiles by the copy engine, the queries' statistics, shares
// of dq), two multiply. Scores are transposed as in attention_backward.cu: weights and score gradients are left
// operands in registers, dk and dv stay there, and only dS goes through shared memory, for dq = dS k.
//
// dq of a tile of queries is the sum of many blocks' shares, added by the copy engine to f32 in memory, which stays in
// the cache since the blocks of one head run together. The order is fixed: each waits for its turn, and as blocks are
// numbered when they start, the ones it waits for always run. The last one turns the sum to bf16.
#include "attend/cuda/attention/attention_backward.cuh"
#include "attend/cuda/attention/attention_backward_keys.cuh"
#include "attend/cuda/tensor_map.h"

namespace attend::cuda {
namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kTake = 240, kLeave = 24;  // registers

template <class Config>
struct Shared {
  unsigned char* base;

  __device__ __forceinline__ std::uint32_t at(int bytes) const { return shared_address(base) + bytes; }
  __device__ __forceinline__ std::uint32_t barrier(int i) const { return at(Config::kBarriersAt + 8 * i); }
  __device__ __forceinline__ std::uint32_t keys_full() const { return barrier(0); }
  __device__ __forceinline__ std::uint32_t full(int stage) const { return barrier(1 + stage); }
  __device__ __forceinline__ std::uint32_t empty(int stage) const { return barrier(3 + stage); }
  __device__ __forceinline__ std::uint32_t sums_full() const { return barrier(5); }
  __device__ __forceinline__ std::uint32_t sums_empty() const { return barrier(6); }
  __device__ __forceinline__ int& ticket() const { return *reinterpret_cast<int*>(base + Config::kBarriersAt + 56); }
  __device__ __forceinline__ float* stats(int stage) const {  // [lse, delta][kQueries]
    return reinterpret_cast<float*>(base + Config::kStatsAt) + stage * 2 * Config::kQueries;
  }
  __device__ __forceinline__ int queries_at(int stage) const {
    return Config::kQueriesAt + stage * Config::kStageBytes;
  }

  __device__ __forceinline__ void begin(const KeyBlockParams& a) const {
    if (threadIdx.x == 0) {
      barrier_init(keys_full(), 1);
      for (int stage = 0; stage < 2; ++stage) {
        barrier_init(full(stage), 1 + 32);  // who asks for the tiles, and the lanes that bring the statistics
        barrier_init(empty(stage), 8);      // warps
      }
      barrier_init(sums_full(), 256);
      barrier_init(sums_empty(), 1);
      barriers_are_ready();
      ticket() = atomicAdd(a.ticket, 1);
    }
    __syncthreads();
  }
};

template <class Tile>
__device__ __forceinline__ void copy_panels(std::uint32_t to, const CUtensorMap& from, int head, std::int64_t row,
                                            std::uint32_t barrier) {
#pragma unroll
  for (int panel = 0; panel < Tile::kColumns / 64; ++panel)
    copy_head_tile(to + panel * Tile::kPanelBytes, from, panel * 64, head, static_cast<int>(row), barrier);
}

// One thread.
template <class Config>
__device__ __forceinline__ void copy_tiles(const KeyBlockParams& a, const KeyBlock<Config>& block,
                                           const Shared<Config>& shared) {
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  int m = block.walk.first();
  if (m >= block.walk.end) return;
  const std::int64_t key_row = block.span.key_row + block.n * Config::kKeys;
  barrier_expect(shared.keys_full(), 2 * KeyTile::kBytes);
  copy_panels<KeyTile>(shared.at(0), a.k, block.h, key_row, shared.keys_full());
  copy_panels<KeyTile>(shared.at(Config::kValuesAt), a.v, block.h, key_row, shared.keys_full());
  for (Stage<2> stage; m < block.walk.end; m = block.walk.next(m + 1), stage.advance()) {
    const std::uint32_t to = shared.at(shared.queries_at(stage.index)), full = shared.full(stage.index);
    const std::int64_t row = block.span.query_row + m * Config::kQueries;
    barrier_wait(shared.empty(stage.index), stage.phase ^ 1);
    barrier_expect(full, Config::kStageBytes);
    copy_panels<QueryTile>(to, a.q, block.h, row, full);
    copy_panels<QueryTile>(to + QueryTile::kBytes, a.dy, block.h, row, full);
  }
}

// One warp: log-sum-exps and deltas. No weight is left to queries behind the last.
template <class Config>
__device__ __forceinline__ void copy_statistics(const KeyBlockParams& a, const KeyBlock<Config>& block,
                                                const Shared<Config>& shared) {
  const float* from = a.stats + block.h * a.p.query_rows + block.span.query_row;
  Stage<2> stage;
  for (int m = block.walk.first(); m < block.walk.end; m = block.walk.next(m + 1), stage.advance()) {
    barrier_wait(shared.empty(stage.index), stage.phase ^ 1);
    float* to = shared.stats(stage.index);
    for (int i = threadIdx.x % 32; i < Config::kQueries; i += 32) {
      const int t = m * Config::kQueries + i;
      const bool inside = t < block.span.queries;
      to[i] = inside ? from[t] : INFINITY;
      to[Config::kQueries + i] = inside ? from[a.p.heads * a.p.query_rows + t] : 0.0f;
    }
    barrier_arrive(shared.full(stage.index));
  }
}

// One thread: shares of dq to memory, each in its turn.
template <class Config>
__device__ __forceinline__ void add_shares(const KeyBlockParams& a, const KeyBlock<Config>& block,
                                           const Shared<Config>& shared) {
  std::uint32_t phase = 0;
  for (int m = block.walk.first(); m < block.walk.end; m = block.walk.next(m + 1)) {
    const auto turn = block.walk.turn(m);
    if (turn.last()) continue;
    const std::int64_t place = block.place(a, m);
    barrier_wait(shared.sums_full(), phase);
    phase ^= 1;
    while (turns_taken(a.turns + place) < turn.mine) __nanosleep(20);
    float* to = a.sums + place * Config::kTileFloats;
    if (turn.mine == 0)
      store_bytes(to, shared.at(Config::kSumsAt), Config::kTileFloats * 4);
    else
      add_floats(to, shared.at(Config::kSumsAt), Config::kTileFloats * 4);
    commit_stores();
    wait_for_stores<0>();
    barrier_arrive(shared.sums_empty());
    stores_are_done();
    end_turn(a.turns + place, turn.mine + 1);
  }
}

// 64 keys of the block, by one warpgroup.
template <class Config, bool kHides>
class KeyGroup {
 public:
  __device__ __forceinline__ KeyGroup(const KeyBlockParams& a, const KeyBlock<Config>& block,
                                      const Shared<Config>& shared)
      : a_(a),
        block_(block),
        shared_(shared),
        lane_(threadIdx.x & 31),
        warp_(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32 - 4, 0)),
        key_(block.n * Config::kKeys),
        mine_(key_ + warp_ * 16 + lane_ / 4) {
    const Window& window = block.walk.window;
    const int behind = max(key_, window.globals);  // the first that may be out of sight again
    open_ = window.start(key_ + Config::kKeys - 1);
    shut_ = behind < key_ + Config::kKeys ? window.stop(behind) : Window::kNever;
    if constexpr (kHides) hidden_.look(HiddenKeys(a.p, block.span), mine_);
  }

  __device__ __forceinline__ void run() {
    clear(dk_);
    clear(dv_);
    if (block_.n == 0) clear_unseen();
    int m = block_.walk.first();
    if (m < block_.walk.end) {
      wait_for_keys();
      Stage<2> stage;
      for (int step = 0; m < block_.walk.end; m = block_.walk.next(m + 1), stage.advance(), ++step) {
        wait_for_queries(stage, m);
        differentiate(stage.index, m, step & 1);
        Products::template wait<0>(dk_, dv_, dq_);
        if (lane_ == 0) barrier_arrive(shared_.empty(stage.index));
        if (a_.g.dq.data) leave_queries(m);
      }
    }
    leave_keys();
  }

 private:
  using Products = GroupProducts;
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  using ScoreTile = typename Config::ScoreTile;

  __device__ __forceinline__ int row() const { return warp_ * 16; }
  __device__ __forceinline__ int group() const { return warp_ / 4; }

  // Queries that see nothing have gradients too.
  __device__ __forceinline__ void clear_unseen() {
    if (!a_.g.dq.data || a_.g.dq.accumulate) return;
    clear(dq_);
    for (int m = 0; m * Config::kQueries < block_.span.queries; ++m)
      if (block_.walk.keys_of(m).count == 0) store_queries(m);
  }

  __device__ __forceinline__ void wait_for_keys() {
    barrier_wait(shared_.keys_full(), 0);
    const int valid = block_.span.visible - key_;
    if (valid >= Config::kKeys) return;
    zero_rows<KeyTile>(shared_.base, valid);
    zero_rows<KeyTile>(shared_.base + Config::kValuesAt, valid);
    Products::publish();
    group_barrier(group());
  }

  __device__ __forceinline__ void wait_for_queries(const Stage<2>& stage, int m) {
    barrier_wait(shared_.full(stage.index), stage.phase);
    const int valid = block_.span.queries - m * Config::kQueries;
    if (valid >= Config::kQueries) return;
    unsigned char* tiles = shared_.base + shared_.queries_at(stage.index);
    zero_rows<QueryTile>(tiles, valid);
    zero_rows<QueryTile>(tiles + QueryTile::kBytes, valid);
    Products::publish();
    group_barrier(group());
  }

  // Tile m: adds to dk and dv, and begins dq.
  __device__ __forceinline__ void differentiate(int stage, int m, int buffer) {
    const std::uint32_t q_tile = shared_.at(shared_.queries_at(stage)), dy_tile = q_tile + QueryTile::kBytes;
    const float *lse = shared_.stats(stage), *delta = lse + Config::kQueries;
    const int query = m * Config::kQueries;
    float s[Config::kQueries / 8][4], dp[Config::kQueries / 8][4];
    std::uint32_t weights[Config::kQueries / 16][4], gradients[Config::kQueries / 16][4];
    Products::begin();
    Products::template rows_times_rows<KeyTile, QueryTile>(s, shared_.at(0), row(), q_tile);
    Products::commit();
    Products::template rows_times_rows<KeyTile, QueryTile>(dp, shared_.at(Config::kValuesAt), row(), dy_tile);
    Products::commit();
    Products::template wait<1>(s);
    weigh(s, a_.p.scale * kLog2E, lse);
    if (query < open_ || query + Config::kQueries > shut_)
      mask_weights(s, query, WindowKeys(block_.walk.window, mine_));
    if constexpr (kHides) hidden_.hide(s, query);
    to_operand(s, weights);
    Products::hold(s);
    Products::hold(weights);
    Products::begin();
    Products::template add_times_columns<QueryTile>(dv_, weights, dy_tile, 0);
    Products::commit();
    Products::template wait<1>(dp);
    score_gradients(s, dp, delta);
    to_operand(dp, gradients);
    unsigned char* scores = shared_.base + Config::kScoresAt + buffer * ScoreTile::kBytes;
    store_operand<ScoreTile>(gradients, scores, row());
    Products::hold(gradients);
    Products::begin();
    Products::template add_times_columns<QueryTile>(dk_, gradients, q_tile, 0);
    Products::commit();
    Products::publish();
    shared_barrier<8, 256>();  // all of dS is there, and nobody reads the one before
    clear(dq_);
    Products::begin();
    Products::template add_columns_times_columns<ScoreTile, KeyTile>(
        dq_, shared_address(scores), Config::kSharesRows ? group() * 64 : 0, shared_.at(0),
        Config::kSharesRows ? 0 : group() * 64);
    Products::commit();
  }

  // This block's share of dq of tile m: to memory, or with the others' to its place.
  __device__ __forceinline__ void leave_queries(int m) {
    const auto turn = block_.walk.turn(m);
    if (!turn.last()) {
      barrier_wait(shared_.sums_empty(), handed_ ^ 1);
      handed_ ^= 1;
      store_shared(dq_, reinterpret_cast<float*>(shared_.base + Config::kSumsAt) + fragment());
      Products::publish();
      barrier_arrive(shared_.sums_full());
      return;
    }
    if (turn.mine > 0) {
      const std::int64_t place = block_.place(a_, m);
      while (__any_sync(0xffffffffu, turns_taken(a_.turns + place) < turn.mine)) {
      }
      const float* from = a_.sums + place * Config::kTileFloats + fragment();
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const float4 x = __ldcg(reinterpret_cast<const float4*>(from + j * kFragmentStride));
        dq_[j][0] += x.x, dq_[j][1] += x.y, dq_[j][2] += x.z, dq_[j][3] += x.w;
      }
    }
    store_queries(m);
  }
  __device__ __forceinline__ int fragment() const { return warp_ * 8 * kFragmentStride + lane_ * 4; }

  __device__ __forceinline__ void store_queries(int m) const {
    const int query = m * Config::kQueries;
    const RowWindow window{.data = static_cast<__nv_bfloat16*>(a_.g.dq.data) +
                                   (block_.span.query_row + query) * a_.g.dq.stride + block_.h * a_.p.width,
                           .stride = a_.g.dq.stride,
                           .rows = block_.span.queries - query,
                           .width = a_.p.width,
                           .accumulate = a_.g.dq.accumulate};
    store_direct(dq_, a_.p.scale, (Config::kSharesRows ? group() * 64 : 0) + warp_ % 4 * 16,
                 Config::kSharesRows ? 0 : group() * 64, window);
  }

  // Through the tiles of keys and values, which nobody reads any more.
  __device__ __forceinline__ void leave_keys() const {
    shared_barrier<8, 256>();
    const auto leave = [&](const float(&sums)[Config::kWidth / 8][4], float factor, const AttentionGradient& to,
                           int at) {
      if (!to.data) return;
      const float factors[2] = {factor, factor};
      store_rows<KeyTile>(sums, factors, shared_.base + at, row(), 0,
                          {.data = static_cast<__nv_bfloat16*>(to.data) + (block_.span.key_row + key_) * to.stride +
                                   block_.h * a_.p.width,
                           .stride = to.stride,
                           .rows = block_.span.keys - key_,
                           .width = a_.p.width,
                           .accumulate = to.accumulate});
    };
    leave(dk_, a_.p.scale, a_.g.dk, 0);
    leave(dv_, 1.0f, a_.g.dv, Config::kValuesAt);
  }

  const KeyBlockParams& a_;
  const KeyBlock<Config>& block_;
  const Shared<Config>& shared_;
  int lane_, warp_, key_;
  int mine_;         // this thread's keys: mine_, mine_ + 8
  int open_, shut_;  // queries from open_ on see all keys, and from shut_ on no longer
  HiddenRows hidden_;
  std::uint32_t handed_ = 0;
  float dk_[Config::kWidth / 8][4], dv_[Config::kWidth / 8][4];
  float dq_[8][4];
};

#endif

// kHides: there is a seen_from.
template <class Config, bool kHides>
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward_keys(const __grid_constant__ KeyBlockParams a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char raw_shared[];
  const Shared<Config> shared{raw_shared + ((1024 - (shared_address(raw_shared) & 1023)) & 1023)};
  shared.begin(a);
  const int tiles = max(ceil_div(a.p.keys, Config::kKeys), 1);
  if (threadIdx.x < 128) {
    fewer_registers<kLeave>();
    const KeyBlock<Config> block(a, shared.ticket(), tiles);
    if (threadIdx.x == 0)
      copy_tiles(a, block, shared);
    else if (threadIdx.x / 32 == 1)
      copy_statistics(a, block, shared);
    else if (threadIdx.x == 64 && a.g.dq.data)
      add_shares(a, block, shared);
  } else {
    more_registers<kTake>();
    const KeyBlock<Config> block(a, shared.ticket(), tiles);
    KeyGroup<Config, kHides>(a, block, shared).run();
  }
#endif
}

template <class Config>
struct Layout {
  std::size_t stats, sums, turns;  // bytes
  int blocks;

  explicit Layout(const AttentionParams& p) {
    const std::size_t heads = static_cast<std::size_t>(p.batch) * p.heads;
    const std::size_t places = heads * ceil_div(p.queries, Config::kQueries);
    stats = (2 * sizeof(float) * p.heads * static_cast<std::size_t>(p.query_rows) + 255) / 256 * 256;
    sums = places * Config::kTileFloats * sizeof(float);
    turns = (places + 1) * sizeof(int);
    const int tiles = ceil_div(p.keys, Config::kKeys);
    blocks = static_cast<int>(heads) * (tiles > 1 ? tiles : 1);
  }
};

template <class Config>
void launch(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  const Layout<Config> layout(p);
  auto* scratch = static_cast<unsigned char*>(g.scratch);
  auto* stats = reinterpret_cast<float*>(scratch);
  auto* turns = reinterpret_cast<int*>(scratch + layout.stats + layout.sums);
  launch_attention_statistics(p, g.dy, stats, stream);
  cudaMemsetAsync(turns, 0, layout.turns, stream);
  const auto heads_of = [&](const void* data, std::int64_t rows, std::int64_t stride, int tile_rows) {
    return tensor_map_of_heads(
        {.data = data, .rows = rows, .heads = p.heads, .width = p.width, .stride = stride, .tile_rows = tile_rows});
  };
  const KeyBlockParams a{
      .q = heads_of(p.q, p.query_rows, p.q_stride, Config::kQueries),
      .k = heads_of(p.k, p.key_rows, p.k_stride, Config::kKeys),
      .v = heads_of(p.v, p.key_rows, p.v_stride, Config::kKeys),
      .dy = heads_of(g.dy, p.query_rows, static_cast<std::int64_t>(p.heads) * p.width, Config::kQueries),
      .p = p,
      .g = g,
      .stats = stats,
      .sums = reinterpret_cast<float*>(scratch + layout.stats),
      .ticket = turns,
      .turns = turns + 1};
  const auto kernel = p.seen_from ? attention_backward_keys<Config, true> : attention_backward_keys<Config, false>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  kernel<<<layout.blocks, Config::kThreads, Config::kSharedBytes, stream>>>(a);
}

using Narrow = KeyBlockConfig<64, 128>;
using Wide = KeyBlockConfig<128, 64>;

}  // namespace

std::size_t attention_backward_keys_scratch(const AttentionParams& p) {
  const auto bytes = [](const auto& layout) { return layout.stats + layout.sums + layout.turns; };
  return p.width <= 64 ? bytes(Layout<Narrow>(p)) : bytes(Layout<Wide>(p));
}

void launch_attention_backward_keys(const AttentionParams& p, const AttentionBackwardParams& g, cudaStream_t stream) {
  p.width <= 64 ? launch<Narrow>(p, g, stream) : launch<Wide>(p, g, stream);
}

}  // namespace attend::cuda
