// One block of the attention backward pass (attention_backward.cu says how the work is laid out).
#pragma once

#include "attend/cuda/attention/attention_backward_sums.cuh"
#include "attend/cuda/attention/attention_backward_tiles.cuh"

namespace attend::cuda {

// What a block does, in pieces: the head it works on, the chunk of queries, the tile of keys, and one tile of both.
template <class Config, bool kExtras, bool kWindow>
class BackwardBlock {
 public:
  __device__ __forceinline__ BackwardBlock(const BackwardKernelParams& a, unsigned char* shared)
      : a_(a),
        shared_(shared),
        k_tile_(shared_address(shared)),
        stats_(reinterpret_cast<float*>(shared + Config::kStatsAt)),
        lane_(threadIdx.x & 31),
        warp_(__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0)),
        key_row_(warp_ % Config::kKeyWarps * 16),
        column_(warp_ / Config::kKeyWarps * Config::kColumns),
        part_(blockIdx.x % a.parts),
        head_(blockIdx.x / a.parts),
        h_(head_ % a.p.heads),
        span_(span_of(a.p, head_ / a.p.heads)),
        window_(window_of(a.p, span_)),
        query_tiles_(ceil_div(span_.queries, Config::kQueries)),
        bias_(a.p, head_ / a.p.heads, h_),
        dropout_(a.p, head_ / a.p.heads, h_),
        copy_q_(rows_of(a.p.q, span_.query_row, a.p.q_stride), a.p.q_stride, a.p.width),
        copy_dy_(rows_of(a.g.dy, span_.query_row, dy_stride()), dy_stride(), a.p.width),
        row_stats_(a.stats + (stat_kind() * a.p.heads + h_) * a.p.query_rows + span_.query_row + stat_row()) {}

  __device__ __forceinline__ void run() {
    if constexpr (kWindow)
      run_window();
    else
      run_all();
  }

 private:
  __device__ __forceinline__ void run_all() {
    const int tiles = Config::kChunk > 0 ? Config::kChunk : max(query_tiles_, 1);
    for (chunk_ = 0; chunk_ == 0 || chunk_ < query_tiles_; chunk_ += tiles) {
      chunk_end_ = min(chunk_ + tiles, query_tiles_);
      const bool last_chunk = chunk_end_ == query_tiles_;
      arriving_ = false;
      for (n_ = part_; n_ == 0 || n_ * Config::kKeys < span_.keys; n_ += a_.parts) {
        const int seen_from = first_tile<Config>(span_, a_.parts, n_);
        const int begin = max(chunk_, min(seen_from, query_tiles_));
        if (begin >= chunk_end_ && !last_chunk) break;  // nor will the tiles behind it be seen
        Keys keys;
        begin_keys(keys, begin, begin < chunk_end_, seen_from < chunk_);
        if (begin < chunk_end_) walk_queries(keys, begin, chunk_end_);
        ask_for_next_keys();
        end_keys(keys, last_chunk);
      }
      if constexpr (Config::kChunk > 0) store_chunk();
    }
    if constexpr (kSums)
      if (a_.g.sums) sums_.leave(a_.p, a_.g, head_, dropout_.scale, shared_);
  }

  // The same under a window: of each chunk only the tiles of keys that it sees, and dk and dv of a tile leave with the
  // last chunk that sees it.
  __device__ __forceinline__ void run_window() {
    const int tiles = Config::kChunk > 0 ? Config::kChunk : max(query_tiles_, 1);
    first_n_ = part_ * tiles_of_part<Config>(a_);
    end_n_ = min(first_n_ + tiles_of_part<Config>(a_), ceil_div(span_.keys, Config::kKeys));
    for (chunk_ = 0; chunk_ == 0 || chunk_ < query_tiles_; chunk_ += tiles) {
      chunk_end_ = min(chunk_ + tiles, query_tiles_);
      arriving_ = false;
      if constexpr (Config::kChunk > 0) clear_chunk();
      for (n_ = first_n_; n_ < end_n_; ++n_) {
        const QueryTiles seen = query_tiles_of<Config>(window_, span_.queries, n_);
        const QueryTiles here = in_chunk(seen);
        if (here.none() && (chunk_ > 0 || !seen.none())) continue;  // one that nobody sees has gradients too: zeros
        Keys keys;
        begin_keys(keys, first_of(here), !here.none(), seen.before(chunk_));
        if (here.marked > chunk_) walk_queries(keys, chunk_, here.marked);
        if (here.marked > chunk_ && here.begin < here.end) load_queries(here.begin);
        if (here.begin < here.end) walk_queries(keys, here.begin, here.end);
        ask_for_next_keys();
        end_keys(keys, !seen.from(chunk_end_));
      }
      if constexpr (Config::kChunk > 0) store_chunk();
    }
  }
  // What of them is in the chunk, each tile once.
  __device__ __forceinline__ QueryTiles in_chunk(const QueryTiles& seen) const {
    QueryTiles here;
    here.marked = seen.marked > chunk_ ? min(seen.marked, chunk_end_) : 0;
    here.begin = max(max(seen.begin, chunk_), here.marked), here.end = min(seen.end, chunk_end_);
    return here;
  }
  __device__ __forceinline__ int first_of(const QueryTiles& here) const {
    return here.marked > chunk_ ? chunk_ : here.begin;
  }
  __device__ __forceinline__ void clear_chunk() {
    clear(dq_);
    for (int m = chunk_; m < chunk_end_; ++m) store_shared(dq_, chunk_sums(m));
  }

  using Products = typename Config::Products;
  using KeyTile = typename Config::KeyTile;
  using QueryTile = typename Config::QueryTile;
  using ScoreTile = typename Config::ScoreTile;
  static constexpr bool kSums =
      Config::kLeavesSums && !kExtras && !kWindow;  // dropout and bias take the last registers

  // A tile of keys, as far as this thread is concerned.
  struct Keys {
    float dk[Config::kColumns / 8][4], dv[Config::kColumns / 8][4];
    std::uint32_t k_rows[Config::kKeepKeys ? Config::kWidth / 16 : 1][4];
    std::uint32_t v_rows[Config::kKeepKeys ? Config::kWidth / 16 : 1][4];
    int mine;       // this thread's rows: mine, mine + 8
    int starts[2];  // the first queries that see them
    int open;       // queries from here on see all keys of the tile,
    int closed;     // and before here none of the rows that multiply together
    int shut;       // under a window: from here on some keys of the tile are behind it
    HiddenRows hidden;
  };

  __device__ __forceinline__ std::int64_t dy_stride() const {
    return static_cast<std::int64_t>(a_.p.heads) * a_.p.width;
  }
  __device__ __forceinline__ const __nv_bfloat16* rows_of(const void* data, std::int64_t row,
                                                          std::int64_t stride) const {
    return static_cast<const __nv_bfloat16*>(data) + row * stride + h_ * a_.p.width;
  }
  // Threads [0, kQueries) bring the queries' log-sum-exps, the next as many their deltas.
  __device__ __forceinline__ static int stat_row() { return threadIdx.x % Config::kQueries; }
  __device__ __forceinline__ static int stat_kind() { return threadIdx.x / Config::kQueries; }
  __device__ __forceinline__ std::uint32_t v_tile() const { return k_tile_ + KeyTile::kBytes; }
  __device__ __forceinline__ std::uint32_t query_stage(int m) const {
    return v_tile() + KeyTile::kBytes + (m & 1) * Config::kStage;
  }
  __device__ __forceinline__ float* chunk_sums(int m) const {
    return reinterpret_cast<float*>(shared_ + Config::kSumsAt) + warp_ * (Config::kQueryColumns / 8) * kFragmentStride +
           lane_ * 4 + (m - chunk_) * Config::kTileFloats;
  }

  __device__ __forceinline__ void load_queries(int m) const {
    const int row = m * Config::kQueries, valid = span_.queries - row;
    copy_q_(query_stage(m), row, valid);
    copy_dy_(query_stage(m) + QueryTile::kBytes, row, valid);
    if (stat_kind() < 2)
      copy_async_word(shared_address(stats_ + (m & 1) * 2 * Config::kQueries + threadIdx.x),
                      stat_row() < valid ? row_stats_ + row : a_.stats, stat_row() < valid);
    copy_async_commit();
  }

  // Tile n of keys, and the first queries that see it.
  __device__ __forceinline__ void load_keys(int n, int m) const {
    const AttentionParams& p = a_.p;
    const int row = n * Config::kKeys, valid = span_.visible - row;
    using Copier = TileCopier<KeyTile, Config::kThreads>;
    Copier(rows_of(p.k, span_.key_row, p.k_stride), p.k_stride, p.width)(k_tile_, row, valid);
    Copier(rows_of(p.v, span_.key_row, p.v_stride), p.v_stride, p.width)(v_tile(), row, valid);
    load_queries(m);
  }

  // `seen` by queries of the chunk, from tile `begin` on; `waiting`: chunks before this one have seen it.
  __device__ __forceinline__ void begin_keys(Keys& keys, int begin, bool seen, bool waiting) {
    if (seen && !arriving_) load_keys(n_, begin);
    if (Config::kChunk > 0 && waiting) {
      load_sums(keys.dk, key_sums<Config>(a_, head_, n_));
      load_sums(keys.dv, key_sums<Config>(a_, head_, n_) + Config::kKeys * Config::kWidth);
    } else {
      clear(keys.dk);
      clear(keys.dv);
    }
    if constexpr (Config::kKeepKeys) {
      if (seen) {
        copy_async_wait();
        __syncthreads();
        load_operand<KeyTile>(keys.k_rows, k_tile_, key_row_);
        load_operand<KeyTile>(keys.v_rows, v_tile(), key_row_);
      }
    }
    const int key = n_ * Config::kKeys;
    keys.mine = key + key_row_ + lane_ / 4;
    if constexpr (kWindow) {
      const int behind = max(key, window_.globals);  // the first that may be out of sight again
      keys.open = window_.start(key + Config::kKeys - 1), keys.closed = 0;
      keys.shut = behind < key + Config::kKeys ? window_.stop(behind) : Window::kNever;
      keys.hidden.look(HiddenKeys(a_.p, span_), keys.mine);
    } else {
      keys.starts[0] = query_start(span_, keys.mine), keys.starts[1] = query_start(span_, keys.mine + 8);
      keys.open = query_start(span_, key + Config::kKeys - 1);
      keys.closed = query_start(span_, key + (Products::kGroups ? key_row_ & ~63 : key_row_));
    }
  }

  // dq of tile m: fetch what was summed, multiply, put back.
  __device__ __forceinline__ void fetch_dq(int m) {
    if (kWindow ? Config::kChunk == 0 && is_first(m) : n_ == part_)
      clear(dq_);
    else if constexpr (Config::kChunk > 0)
      load_shared(dq_, chunk_sums(m));
    else
      load_sums(dq_, query_sums<Config>(a_, part_, head_, m));
  }
  // Under a window: no tile of the part before this one is seen by tile m of queries, which sees this one.
  __device__ __forceinline__ bool is_first(int m) const {
    if (n_ == first_n_) return true;
    const QueryTiles before = query_tiles_of<Config>(window_, span_.queries, n_ - 1);
    return m >= before.marked && first_n_ * Config::kKeys >= window_.globals && m >= before.end;
  }
  __device__ __forceinline__ void multiply_dq(int m) {
    Products::template add_columns_times_columns<ScoreTile, KeyTile>(
        dq_, k_tile_ + Config::kScoresAt + (m & 1) * ScoreTile::kBytes, warp_ % Config::kRowWarps * 16, k_tile_,
        warp_ / Config::kRowWarps * Config::kQueryColumns);
  }
  __device__ __forceinline__ void put_dq(int m) {
    if constexpr (Config::kChunk > 0) {
      store_shared(dq_, chunk_sums(m));
    } else if constexpr (kWindow) {
      store_sums(dq_, query_sums<Config>(a_, part_, head_, m));
    } else {
      const int next = n_ + a_.parts;
      const bool last = next * Config::kKeys >= span_.keys || first_tile<Config>(span_, a_.parts, next) > m;
      if (!last || a_.parts > 1)
        store_sums(dq_, query_sums<Config>(a_, part_, head_, m));
      else if (a_.g.dq.data)
        store_queries<Config>(dq_, a_, span_, h_, m);
    }
  }

  __device__ __forceinline__ void walk_queries(Keys& keys, int begin, int end) {
    step<true>(keys, begin, end);
    for (int m = begin + 1; m < end; ++m) step<false>(keys, m, end);
    fetch_dq(end - 1);
    Products::publish();
    __syncthreads();
    Products::begin();
    multiply_dq(end - 1);
    Products::commit();
    Products::template wait<0>(dq_);
    put_dq(end - 1);
    __syncthreads();  // all tiles have been read
  }

  // Tile m, and dq of the tile before. The first is compiled apart: products in flight must not be conditional.
  template <bool kFirst>
  __device__ __forceinline__ void step(Keys& keys, int m, int end) {
    const int query = m * Config::kQueries;
    if constexpr (!kFirst) fetch_dq(m - 1);
    copy_async_wait();
    Products::publish();
    __syncthreads();
    if (m + 1 < end) load_queries(m + 1);
    std::uint32_t ds_operand[Config::kQueries / 16][4];
    // A group has nothing to do for its first tile at most; one that has, for others, is merely slow.
    if ((!Products::kGroups || kFirst) && query + Config::kQueries <= keys.closed) {
      if constexpr (!kFirst) multiply_dq(m - 1);
#pragma unroll
      for (int i = 0; i < Config::kQueries / 16; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) ds_operand[i][e] = 0;
    } else {
      differentiate<kFirst>(keys, m, ds_operand);
    }
    if (column_ == 0)
      store_operand<ScoreTile>(ds_operand, shared_ + Config::kScoresAt + (m & 1) * ScoreTile::kBytes, key_row_);
    if constexpr (!kFirst) {
      Products::template wait<0>(dq_, keys.dk, keys.dv);
      put_dq(m - 1);
    }
  }

  // The tile's share of dk and dv, and the gradient of its scores.
  template <bool kFirst>
  __device__ __forceinline__ void differentiate(Keys& keys, int m,
                                                std::uint32_t (&ds_operand)[Config::kQueries / 16][4]) {
    constexpr int kQueries8 = Config::kQueries / 8;
    const int query = m * Config::kQueries;
    const std::uint32_t q_tile = query_stage(m), dy_tile = q_tile + QueryTile::kBytes;
    const float *lse = stats_ + (m & 1) * 2 * Config::kQueries, *delta = lse + Config::kQueries;
    const float factor = a_.p.scale * kLog2E;
    float s[kQueries8][4], dp[kQueries8][4];
    if constexpr (!kFirst) Products::hold(dq_);
    Products::begin();
    if constexpr (Config::kKeepKeys)
      Products::template times_rows<QueryTile>(s, keys.k_rows, q_tile);
    else
      Products::template rows_times_rows<KeyTile, QueryTile>(s, k_tile_, key_row_, q_tile);
    Products::commit();
    if constexpr (Config::kKeepKeys)
      Products::template times_rows<QueryTile>(dp, keys.v_rows, dy_tile);
    else
      Products::template rows_times_rows<KeyTile, QueryTile>(dp, v_tile(), key_row_, dy_tile);
    Products::commit();
    if constexpr (!kFirst) multiply_dq(m - 1);
    Products::commit();
    Products::template wait<2>(s);
    if constexpr (kExtras) bias_transposed(s, factor, bias_, query, keys.mine, span_);
    weigh(s, kExtras ? 1.0f : factor, lse);
    if constexpr (kWindow) {
      if (query < keys.open || query + Config::kQueries > keys.shut)
        mask_weights(s, query, WindowKeys(window_, keys.mine));
      keys.hidden.hide(s, query);
    } else {
      if (query < keys.open) mask_weights(s, query, keys.starts);
    }
    std::uint32_t operand[Config::kQueries / 16][4];
    std::uint32_t keep = 0;
    if (kExtras && dropout_.on) {
      keep = dropout_.template keeps_columns<kQueries8>(query, keys.mine);
      to_operand_dropped(s, keep, operand);
    } else {
      to_operand(s, operand);
    }
    Products::hold(s);
    Products::hold(operand);
    Products::template wait<1>(dp);
    Products::begin();
    Products::template add_times_columns<QueryTile>(keys.dv, operand, dy_tile, column_);
    Products::commit();
    if (kExtras && dropout_.on) drop_gradients(dp, keep, dropout_.scale);
    score_gradients(s, dp, delta);
    to_operand(dp, ds_operand);
    Products::begin();
    Products::template add_times_columns<QueryTile>(keys.dk, ds_operand, q_tile, column_);
    Products::commit();
    if constexpr (kFirst) Products::template wait<0>(keys.dk, keys.dv);
  }

  __device__ __forceinline__ void ask_for_next_keys() {
    arriving_ = false;
    if constexpr (Config::kEarlyKeys) {
      if constexpr (kWindow) {
        if (n_ + 1 >= end_n_) return;
        const QueryTiles here = in_chunk(query_tiles_of<Config>(window_, span_.queries, n_ + 1));
        arriving_ = !here.none();
        if (arriving_) load_keys(n_ + 1, first_of(here));
        return;
      }
      const int next = n_ + a_.parts;
      if (next * Config::kKeys >= span_.keys) return;
      const int begin = max(chunk_, min(first_tile<Config>(span_, a_.parts, next), query_tiles_));
      arriving_ = begin < chunk_end_;
      if (arriving_) load_keys(next, begin);
    }
  }

  __device__ __forceinline__ RowWindow key_window(const AttentionGradient& to) const {
    const int key = n_ * Config::kKeys;
    return {.data = static_cast<__nv_bfloat16*>(to.data) + (span_.key_row + key) * to.stride + h_ * a_.p.width,
            .stride = to.stride,
            .rows = span_.keys - key,
            .width = a_.p.width,
            .accumulate = to.accumulate};
  }

  // dk and dv of the tile leave, or wait for the next chunk.
  __device__ __forceinline__ void end_keys(const Keys& keys, bool last_chunk) {
    if (last_chunk) {
      if constexpr (kSums)
        if (a_.g.sums) sums_.dk.add(keys.dk), sums_.dv.add(keys.dv);
      const float k_factors[2] = {a_.p.scale, a_.p.scale}, v_factors[2] = {dropout_.scale, dropout_.scale};
      unsigned char* way_out = shared_ + (Config::kEarlyKeys ? Config::kScoresAt : 0);
      const AttentionGradient &dk = a_.g.dk, &dv = a_.g.dv;
      if (dk.data) store_rows<KeyTile>(keys.dk, k_factors, way_out, key_row_, column_ / 8, key_window(dk));
      if (dv.data)
        store_rows<KeyTile>(keys.dv, v_factors, way_out + KeyTile::kBytes, key_row_, column_ / 8, key_window(dv));
      if constexpr (!Config::kEarlyKeys) __syncthreads();
    } else if constexpr (Config::kChunk > 0) {
      store_sums(keys.dk, key_sums<Config>(a_, head_, n_));
      store_sums(keys.dv, key_sums<Config>(a_, head_, n_) + Config::kKeys * Config::kWidth);
    }
  }

  // The chunk's dq is complete, or this part's share of it.
  __device__ __forceinline__ void store_chunk() {
    const int first = kWindow ? chunk_ : max(chunk_, first_tile<Config>(span_, a_.parts, part_));
    for (int m = first; m < chunk_end_ && a_.g.dq.data; ++m) {
      if (kWindow && a_.parts > 1 && !part_has<Config>(a_, window_, span_.queries, part_, m)) continue;
      load_shared(dq_, chunk_sums(m));
      if constexpr (kSums)
        if (a_.g.sums) sums_.dq.add(dq_);
      if (a_.parts > 1)
        store_sums(dq_, query_sums<Config>(a_, part_, head_, m));
      else
        store_queries<Config>(dq_, a_, span_, h_, m);
    }
  }

  const BackwardKernelParams& a_;
  unsigned char* shared_;
  std::uint32_t k_tile_;
  float* stats_;  // [stage][lse, delta][kQueries]
  int lane_, warp_, key_row_, column_;
  int part_, head_, h_;
  AttentionSpan span_;
  Window window_;
  int query_tiles_;
  BiasReader bias_;
  WeightDropout dropout_;
  TileCopier<QueryTile, Config::kThreads> copy_q_, copy_dy_;
  const float* row_stats_;
  int chunk_ = 0, chunk_end_ = 0;  // tiles of queries
  int n_ = 0;                      // the tile of keys
  int first_n_ = 0, end_n_ = 0;    // under a window: those of the part
  bool arriving_ = false;          // it has been asked for
  float dq_[Config::kQueryColumns / 8][4];
  HeadSums<Config> sums_;
};

}  // namespace attend::cuda
