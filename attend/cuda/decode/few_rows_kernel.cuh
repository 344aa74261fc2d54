// The kernel of few_rows_step.cuh: the walk of one block through all layers.
#pragma once

#include "attend/cuda/decode/few_rows_step.cuh"
#include "attend/cuda/decode/step_stamps.cuh"

namespace attend::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Shape, class Stamps>
class FewRowsBlock {
 public:
  using Shared = typename Shape::Shared;
  using Input = typename Shape::Input;
  using Output = typename Shape::Output;
  using Expand = typename Shape::Expand;
  using Contract = typename Shape::Contract;
  static constexpr int C = Shape::kWidth, H = Shape::kHeads, F = Shape::kHidden, S = Shape::kOwned, D = kFewHead;

  __device__ FewRowsBlock(const FewRowsParams& p, Shared& shared)
      : p_(p),
        s_(shared),
        thread_(static_cast<int>(threadIdx.x)),
        lane_(thread_ % kWarp),
        warp_(thread_ / kWarp),
        rank_(static_cast<int>(blockIdx.x) % kFewRanks),
        cluster_(static_cast<int>(blockIdx.x) / kFewRanks) {}

  __device__ void run() {
    Stamps::kernel(p_.stamps, StepMoment::kBeginClock, StepMoment::kBeginTime);
    begin();
    for (int layer = 0; layer < p_.layers; ++layer) {
      project(layer);
      attend(layer);
      add_to_stream<Output>(kOutput, s_.output, p_.mixed, C, layer);
      expand(layer);
      add_to_stream<Contract>(kContract, s_.contract, p_.hidden, F, layer);
    }
    let_next_kernel_start();
    finish();
    Stamps::kernel(p_.stamps, StepMoment::kEndClock, StepMoment::kEndTime);
  }

 private:
  enum Gate { kInput, kOutput, kExpand, kContract, kGates };
  using Moment = StepMoment;
  __device__ void mark(int layer, Moment::Phase phase, Moment::Step step) {
    Stamps::moment(p_.stamps, layer, Moment::of(phase, step));
  }
  static constexpr Moment::Phase phase_of(Gate which) {
    return which == kOutput ? Moment::kOutput : which == kExpand ? Moment::kExpand : Moment::kContract;
  }
  __device__ std::uint32_t gate(int which) { return shared_address(&s_.gates[which]); }
  __device__ void wait(Gate which) {
    barrier_wait(gate(which), parities_ >> which & 1);
    parities_ ^= 1u << which;
  }
  // One thread orders this block's bytes of a phase.
  __device__ void fetch(Gate which, int layer) {
    if (layer >= p_.layers) return;
    const std::uint8_t* from = p_.packed + layer * Shape::kLayerBytes;
    switch (which) {
      case kInput:
        return fetch_phase(s_.input, from + Shape::kInputAt, which);
      case kOutput:
        return fetch_phase(s_.output, from + Shape::kOutputAt, which);
      case kExpand:
        return fetch_phase(s_.expand, from + Shape::kExpandAt, which);
      default:
        return fetch_phase(s_.contract, from + Shape::kContractAt, which);
    }
  }
  template <int kBytes>
  __device__ void fetch_phase(std::uint8_t (&to)[kBytes], const std::uint8_t* of_all, Gate which) {
    barrier_expect(gate(which), kBytes);
    fetch_bytes(shared_address(to), of_all + std::int64_t{kBytes} * blockIdx.x, kBytes, gate(which));
  }

  // What this block wrote is there for all who wait. Shared memory that the phase read may be written again.
  __device__ void arrive() {
    __syncthreads();
    target_ += Shape::kBlocks;
    if (thread_ == 0) arrive_at(p_.arrivals);
  }
  __device__ void wait_for_all() {
    if (thread_ == 0)
      while (static_cast<std::int32_t>(arrivals_at(p_.arrivals) - target_) < 0) {
      }
    __syncthreads();
  }

  __device__ int groups() const { return (p_.rows + kFewGroupRows - 1) / kFewGroupRows; }
  // Row tiles of a group.
  __device__ int tiles_of(int group) const { return min((p_.rows - group * kFewGroupRows + 7) / 8, kFewTiles); }
  __device__ int own_row(int group) const {
    return group * kFewGroupRows + rank_ * 8;
  }  // the first of this rank's tile

  __device__ void begin() {
    if (thread_ == 0) {
      for (int i = 0; i < kGates; ++i) barrier_init(gate(i), 1);
      barriers_are_ready();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      for (int i = 0; i < kGates; ++i) fetch(static_cast<Gate>(i), 0);
    }
    wait_for_kernel_before();
    if (thread_ == 0) target_ = *reinterpret_cast<const volatile std::uint32_t*>(p_.before);
    for (int group = 0; group < groups(); ++group)
      for (int i = thread_; i < S * 8; i += kFewThreads) {
        const int row = own_row(group) + i / S, column = cluster_ * S + i % S;
        s_.own[group][i % S][i / S] = row < p_.rows ? to_float(p_.x[row * C + column]) : 0.0f;
      }
    __syncthreads();  // also: the gates are ready for all threads
    for (int group = 0; group < groups(); ++group) publish(group);
    arrive();
  }

  // This block's rows and columns of the stream, and their moments. A warp has a row.
  __device__ void publish(int group) {
    const int row = own_row(group) + warp_;
    if (warp_ >= 8 || row >= p_.rows) return;
    constexpr int kEach = (S + kWarp - 1) / kWarp;
    float x[kEach], sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int column = lane_ + i * kWarp;
      x[i] = column < S ? s_.own[group][column][warp_] : 0.0f;
      sum += x[i];
      if (column < S) p_.stream[row * C + cluster_ * S + column] = x[i];
    }
    const float mean = warp_sum(sum) / S;
    sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (lane_ + i * kWarp < S) sum += (x[i] - mean) * (x[i] - mean);
    const float squares = warp_sum(sum);
    if (lane_ == 0) p_.moments[row * Shape::kClusters + cluster_] = make_float2(mean, squares);
  }
  // Mean and 1 / deviation of a row of the stream.
  __device__ float2 norm_of(int row) const {
    float2 part[Shape::kClusters];
#pragma unroll
    for (int i = 0; i < Shape::kClusters; i += 2) {
      const float4 two = load_shared_by_all(reinterpret_cast<const float*>(p_.moments + row * Shape::kClusters + i));
      part[i] = make_float2(two.x, two.y), part[i + 1] = make_float2(two.z, two.w);
    }
    float mean = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < Shape::kClusters; ++i) mean += part[i].x;
    mean /= Shape::kClusters;
#pragma unroll
    for (int i = 0; i < Shape::kClusters; ++i) squares += part[i].y + S * (part[i].x - mean) * (part[i].x - mean);
    return make_float2(mean, rsqrtf(squares / C + p_.eps));
  }

  // The norm of this rank's slice of a group's rows, to shared memory. weight, bias [slice]
  template <class P>
  __device__ void read_normed(int group, const float* weight, const float* bias) {
    static_assert(P::kK == C);
    constexpr int kPieces = P::kSlice / 8, kMost = (kFewGroupRows * kPieces + kFewThreads - 1) / kFewThreads;
    const int first = group * kFewGroupRows, rows = tiles_of(group) * 8;
    // All loads are on their way before the first moment is needed.
    float4 low[kMost], high[kMost];
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const int at = thread_ + i * kFewThreads, row = first + at / kPieces;
      low[i] = high[i] = make_float4(0, 0, 0, 0);
      if (at < rows * kPieces && row < p_.rows) {
        const float* from = p_.stream + row * C + P::summed(rank_, at % kPieces * 8);
        low[i] = load_shared_by_all(from), high[i] = load_shared_by_all(from + 4);
      }
    }
    if (thread_ < kFewGroupRows && first + thread_ < p_.rows) {
      const float2 norm = norm_of(first + thread_);
      s_.norms[thread_][0] = norm.x, s_.norms[thread_][1] = norm.y;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const int at = thread_ + i * kFewThreads, row = at / kPieces, k = at % kPieces * 8;
      if (at >= rows * kPieces) continue;
      float x[8] = {low[i].x, low[i].y, low[i].z, low[i].w, high[i].x, high[i].y, high[i].z, high[i].w};
      const bool inside = first + row < p_.rows;
      const float mean = inside ? s_.norms[row][0] : 0.0f, scale = inside ? s_.norms[row][1] : 0.0f;
#pragma unroll
      for (int e = 0; e < 8; ++e) x[e] = inside ? (x[e] - mean) * scale * weight[k + e] + bias[k + e] : 0.0f;
      store<8>(reinterpret_cast<bf16*>(s_.x) + P::x_at(row, k), x);
    }
    __syncthreads();
  }
  // This rank's slice of a group's rows of activations in blocks, to shared memory.
  template <class P>
  __device__ void read_blocks(int group, const bf16* from, int width) {
    const int tiles = tiles_of(group), each = tiles * 32;  // 16 bytes each, of a column of blocks
    from += activation_at(group * kFewGroupRows, P::summed(rank_, 0), width);
    for (int i = thread_; i < P::kChunks * each; i += kFewThreads) {
      const int at = (i / each * kFewTiles * 32 + i % each) * 8;
      copy_async(shared_address(s_.x + at), from + at, true);
    }
    copy_async_commit();
    copy_async_wait();
    __syncthreads();
  }

  // The partial product of a group's rows, to the partial sums.
  template <class P>
  __device__ void multiply(const std::uint8_t* weights, int tiles) {
    const bool busy = P::row_tile_of(warp_, 0) < tiles;
    float sums[P::kEach][2][4] = {};
    const auto* x = reinterpret_cast<const uint4*>(s_.x);
    const auto* w = reinterpret_cast<const uint4*>(weights);
#pragma unroll 4
    for (int chunk = 0; chunk < (busy ? P::kChunks : 0); ++chunk) {
      uint4 rows[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) rows[j] = x[P::x_at(P::row_tile_of(warp_, j) * 8, chunk * 32) / 8 + lane_];
#pragma unroll
      for (int i = 0; i < P::kEach; ++i) {
        const int tile = P::tile_of(warp_, i);
        const uint4 low = w[P::weight_at(tile * 16, chunk * 32) / 8 + lane_];
        const uint4 high = w[P::weight_at(tile * 16 + 8, chunk * 32) / 8 + lane_];
#pragma unroll
        for (int j = 0; j < 2; ++j) multiply_chunk(sums[i][j], low, high, rows[j]);
      }
    }
    __syncthreads();  // partial sums take the place of the activations
    if (!busy) return;
#pragma unroll
    for (int i = 0; i < P::kEach; ++i) {
      const int tile = P::tile_of(warp_, i);
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
          const int at = P::partial_at(P::row_tile_of(warp_, j), tile * 16 + accumulator_column(lane_, e),
                                       accumulator_row(lane_, e));
          *reinterpret_cast<float2*>(s_.partials + at) = make_float2(sums[i][j][e], sums[i][j][e + 1]);
        }
    }
  }
  // Adds up all ranks' partial sums of this rank's row tile: take(column, first of four rows, sums).
  template <class P, class Take>
  __device__ void join_ranks(Take&& take) {
    constexpr int kFours = P::kColumns * 2;
    static_assert(kFours <= kFewThreads);
    if (thread_ >= kFours) return;
    const int column = thread_ / 2, row = thread_ % 2 * 4;
    const float* at = s_.partials + P::partial_at(rank_, column, row);
    float4 part[kFewRanks];
#pragma unroll
    for (int k = 0; k < kFewRanks; ++k) part[k] = four_of(at, k);
    float sum[4] = {};
#pragma unroll
    for (int k = 0; k < kFewRanks; ++k)
      sum[0] += part[k].x, sum[1] += part[k].y, sum[2] += part[k].z, sum[3] += part[k].w;
    take(column, row, sum);
  }
  // Sends this rank's finished row tile to memory in pieces of 8 columns: place(row of the tile, column) says where.
  template <class P, class Place>
  __device__ void send_finished(int group, Place&& place) {
    __syncthreads();
    constexpr int kPieces = P::kColumns / 8;
    static_assert(kPieces * 8 <= kFewThreads);
    const int row = thread_ / kPieces, column = thread_ % kPieces * 8;
    if (row < 8 && own_row(group) + row < p_.rows)
      *reinterpret_cast<uint4*>(place(own_row(group) + row, P::column(cluster_, column))) =
          *reinterpret_cast<const uint4*>(&s_.finished[row][column]);
  }
  template <class P, class Value>
  __device__ void finish_rows(Value&& value) {
    join_ranks<P>([&](int column, int row, const float(&sum)[4]) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        reinterpret_cast<bf16*>(s_.finished[row + e])[column] = from_float<bf16>(value(column, sum[e]));
    });
  }

  // Queries to memory, keys and values to the cache.
  __device__ void project(int layer) {
    Stamps::moment(p_.stamps, layer, Moment::kStart);
    wait_for_all();
    wait(kInput);
    mark(layer, Moment::kInput, Moment::kCame);
    const auto* weight = reinterpret_cast<const float*>(s_.input);
    const float *norm_bias = weight + Input::kSlice, *bias = norm_bias + Input::kSlice;
    for (int group = 0; group < groups(); ++group) {
      read_normed<Input>(group, weight, norm_bias);
      mark(layer, Moment::kInput, Moment::kRead);
      multiply<Input>(reinterpret_cast<const std::uint8_t*>(bias + Input::kColumns), tiles_of(group));
      mark(layer, Moment::kInput, Moment::kMultiplied);
      cluster_barrier();
      mark(layer, Moment::kInput, Moment::kMet);
      if (rank_ < tiles_of(group)) {
        finish_rows<Input>([&](int column, float x) { return x + bias[column]; });
        send_finished<Input>(group, [&](int row, int column) {
          return column < C ? p_.queries + row * C + column
                            : p_.caches[layer] + std::int64_t{p_.slots[row]} * 2 * C + column - C;
        });
      }
      if (group + 1 < groups()) cluster_barrier();  // the partial sums have been read
    }
    mark(layer, Moment::kInput, Moment::kDone);
  }

  // A row's query and up to 16 keys: eight lanes hold a key and value, 8 columns each.
  static constexpr int kAtOnce = 4;
  struct Keys {
    uint4 q, k[kAtOnce], v[kAtOnce];
  };
  struct Part {  // of a row's keys: this rank's
    int row, begin, end, length;
  };
  __device__ Part part_of(int row) const {
    const int length = p_.lengths[row], each = keys_of_rank(length), begin = min(rank_ * each, length);
    return {row, begin, min(begin + each, length), length};
  }
  __device__ const bf16* key_at(int layer, const Part& part, int key) const {
    return p_.caches[layer] + (part.row * p_.capacity + key) * 2 * C + cluster_ * D + lane_ % 8 * 8;
  }
  __device__ void load_query(Keys& keys, const Part& part) const {
    keys.q = load_shared_by_all(p_.queries + part.row * C + cluster_ * D + lane_ % 8 * 8);
  }
  // Keys from `first` on that lie in the rank's part, and in [from, to).
  __device__ void load_keys(Keys& keys, int layer, const Part& part, int first, int from, int to) const {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int key = first + i * 4 + lane_ / 8;
      if (key < part.end && key >= from && key < to) {
        const bf16* at = key_at(layer, part, key);
        keys.k[i] = load_shared_by_all(at), keys.v[i] = load_shared_by_all(at + C);
      }
    }
  }
  // A softmax under way: o is this lane's 8 columns of Σ 2^(score - maximum) v.
  struct Partial {
    float maximum = -INFINITY, sum = 0, o[8] = {};
  };
  __device__ static float weight_of(float score, float maximum) {
    return maximum == -INFINITY ? 0.0f : exp2_fast(score - maximum);
  }
  __device__ void take_keys(Partial& x, const float (&q)[8], const Keys& keys, const Part& part, int first) const {
    float scores[kAtOnce], top = x.maximum;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      float k[8];
      load<8>(reinterpret_cast<const bf16*>(&keys.k[i]), k);
      scores[i] = 0;
#pragma unroll
      for (int e = 0; e < 8; ++e) scores[i] += q[e] * k[e];
#pragma unroll
      for (int step = 4; step > 0; step >>= 1) scores[i] += __shfl_xor_sync(0xffffffffu, scores[i], step);
      if (first + i * 4 + lane_ / 8 >= part.end) scores[i] = -INFINITY;
      top = fmaxf(top, scores[i]);
    }
    const float scale = weight_of(x.maximum, top);
    x.maximum = top;
    x.sum *= scale;
#pragma unroll
    for (int e = 0; e < 8; ++e) x.o[e] *= scale;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (scores[i] == -INFINITY) continue;  // its value was never loaded
      const float weight = exp2_fast(scores[i] - top);
      float v[8];
      load<8>(reinterpret_cast<const bf16*>(&keys.v[i]), v);
      x.sum += weight;
#pragma unroll
      for (int e = 0; e < 8; ++e) x.o[e] += weight * v[e];
    }
  }

  __device__ void attend(int layer) {
    Keys keys = {};
    Part part{};
    const bool any = warp_ < p_.rows;
    if (any) {  // all but the newest key are older than this layer
      part = part_of(warp_);
      load_keys(keys, layer, part, part.begin, 0, part.length - 1);
    }
    cluster_barrier();  // all ranks have written queries, keys and values, and have read the partial sums
    mark(layer, Moment::kAttend, Moment::kCame);
    if (thread_ == 0) fetch(kInput, layer + 1);
    if (any) {
      load_query(keys, part);
      load_keys(keys, layer, part, part.begin, part.length - 1, part.length);
    }
    for (int row = warp_; row < p_.rows; row += kFewWarps) {
      constexpr float kScale = 0.125f * kLog2OfE;  // 1 / √64, for powers of two
      static_assert(D == 64);
      float q[8];
      load<8>(reinterpret_cast<const bf16*>(&keys.q), q);
#pragma unroll
      for (int e = 0; e < 8; ++e) q[e] *= kScale;
      Partial found;
      for (int first = part.begin; first < part.end; first += kAtOnce * 4) {  // the same for all lanes
        if (first > part.begin) load_keys(keys, layer, part, first, 0, part.length);
        take_keys(found, q, keys, part, first);
      }
      // The next row's are on their way while this one's lanes are joined.
      if (row + kFewWarps < p_.rows) {
        part = part_of(row + kFewWarps);
        load_query(keys, part);
        load_keys(keys, layer, part, part.begin, 0, part.length);
      }
      join_lanes(found);
      if (lane_ < 8) {
        auto* to = reinterpret_cast<float4*>(s_.partials + Shape::found_at(row, lane_ * 8));
        to[0] = make_float4(found.o[0], found.o[1], found.o[2], found.o[3]);
        to[1] = make_float4(found.o[4], found.o[5], found.o[6], found.o[7]);
      }
      if (lane_ == 0)
        *reinterpret_cast<float2*>(s_.partials + Shape::maximum_at(row)) = make_float2(found.maximum, found.sum);
    }
    mark(layer, Moment::kAttend, Moment::kMultiplied);
    cluster_barrier();
    mark(layer, Moment::kAttend, Moment::kMet);
    for (int i = thread_; i < joined_rows(rank_, p_.rows) * D; i += kFewThreads)
      join_row(joined_row(rank_, i / D), i % D);
    arrive();
    mark(layer, Moment::kAttend, Moment::kDone);
    fetch_keys_to_l2(layer + 1);
  }
  __device__ static void join_lanes(Partial& x) {
#pragma unroll
    for (int step = 8; step <= 16; step <<= 1) {
      const float other = __shfl_xor_sync(0xffffffffu, x.maximum, step), top = fmaxf(x.maximum, other);
      const float mine = weight_of(x.maximum, top), theirs = weight_of(other, top);
      x.maximum = top;
      x.sum = x.sum * mine + __shfl_xor_sync(0xffffffffu, x.sum, step) * theirs;
#pragma unroll
      for (int e = 0; e < 8; ++e) x.o[e] = x.o[e] * mine + __shfl_xor_sync(0xffffffffu, x.o[e], step) * theirs;
    }
  }
  // Column d of this head's attention in a row, from what all ranks found.
  __device__ void join_row(int row, int d) {
    float maxima[kFewRanks], sums[kFewRanks], o[kFewRanks], top = -INFINITY, sum = 0, x = 0;
#pragma unroll
    for (int k = 0; k < kFewRanks; ++k) {
      maxima[k] = shared_of(s_.partials + Shape::maximum_at(row), k);
      sums[k] = shared_of(s_.partials + Shape::maximum_at(row) + 1, k);
      o[k] = shared_of(s_.partials + Shape::found_at(row, d), k);
      top = fmaxf(top, maxima[k]);
    }
#pragma unroll
    for (int k = 0; k < kFewRanks; ++k) {
      const float weight = weight_of(maxima[k], top);
      sum += weight * sums[k], x += weight * o[k];
    }
    p_.mixed[activation_at(row, cluster_ * D + d, C)] = from_float<bf16>(x / sum);
  }
  // The first keys and values of a row, whole positions: all heads lie beside each other. An eighth of a row at a time,
  // by all blocks in turn.
  __device__ void fetch_keys_to_l2(int layer) {
    if (layer >= p_.layers || p_.keys_ahead == 0) return;
    for (int i = static_cast<int>(blockIdx.x) + thread_ * Shape::kBlocks; i < p_.rows * kFewRanks;
         i += kFewThreads * Shape::kBlocks) {
      const int row = i / kFewRanks, keys = min(p_.lengths[row] - 1, p_.keys_ahead), each = keys_of_rank(keys);
      const int begin = min(i % kFewRanks * each, keys), count = min(begin + each, keys) - begin;
      if (count > 0)
        fetch_to_l2(p_.caches[layer] + (row * p_.capacity + begin) * 2 * C,
                    static_cast<std::uint32_t>(count) * 2 * C * sizeof(bf16));
    }
  }

  // A product that is added to the stream, which is published again.
  template <class P, int kBytes>
  __device__ void add_to_stream(Gate which, std::uint8_t (&bytes)[kBytes], const bf16* from, int width, int layer) {
    const Moment::Phase phase = phase_of(which);
    wait_for_all();
    wait(which);
    mark(layer, phase, Moment::kCame);
    const auto* bias = reinterpret_cast<const float*>(bytes);
    for (int group = 0; group < groups(); ++group) {
      read_blocks<P>(group, from, width);
      mark(layer, phase, Moment::kRead);
      multiply<P>(reinterpret_cast<const std::uint8_t*>(bias + P::kColumns), tiles_of(group));
      mark(layer, phase, Moment::kMultiplied);
      cluster_barrier();
      mark(layer, phase, Moment::kMet);
      if (rank_ < tiles_of(group)) {
        join_ranks<P>([&](int column, int row, const float(&sum)[4]) {
          auto* own = reinterpret_cast<float4*>(&s_.own[group][column][row]);
          const float4 x = *own;
          const float add = bias[column];
          *own = make_float4(x.x + sum[0] + add, x.y + sum[1] + add, x.z + sum[2] + add, x.w + sum[3] + add);
        });
        __syncthreads();
        publish(group);
      }
      if (group + 1 < groups()) cluster_barrier();
    }
    arrive();
    if (thread_ == 0) fetch(which, layer + 1);
    mark(layer, phase, Moment::kDone);
  }

  __device__ void expand(int layer) {
    wait_for_all();
    wait(kExpand);
    mark(layer, Moment::kExpand, Moment::kCame);
    const auto* weight = reinterpret_cast<const float*>(s_.expand);
    const float *norm_bias = weight + Expand::kSlice, *bias = norm_bias + Expand::kSlice;
    for (int group = 0; group < groups(); ++group) {
      read_normed<Expand>(group, weight, norm_bias);
      mark(layer, Moment::kExpand, Moment::kRead);
      multiply<Expand>(reinterpret_cast<const std::uint8_t*>(bias + Expand::kColumns), tiles_of(group));
      mark(layer, Moment::kExpand, Moment::kMultiplied);
      cluster_barrier();
      mark(layer, Moment::kExpand, Moment::kMet);
      if (rank_ < tiles_of(group)) {
        finish_rows<Expand>([&](int column, float x) {
          float value[1] = {x + bias[column]};
          activate(p_.activation, value);
          return value[0];
        });
        send_finished<Expand>(group, [&](int row, int column) { return p_.hidden + activation_at(row, column, F); });
      }
      if (group + 1 < groups()) cluster_barrier();
    }
    arrive();
    if (thread_ == 0) fetch(kExpand, layer + 1);
    mark(layer, Moment::kExpand, Moment::kDone);
  }

  // The norm after the last layer, of this block's rows and columns.
  __device__ void finish() {
    wait_for_all();
    // All blocks have read the number: they have passed barriers since.
    if (blockIdx.x == 0 && thread_ == 0) *reinterpret_cast<volatile std::uint32_t*>(p_.before) = target_;
    for (int group = 0; group < groups(); ++group) {
      const int row = own_row(group) + warp_;
      if (warp_ >= 8 || row >= p_.rows) continue;
      const float2 norm = norm_of(row);
      for (int i = lane_; i < S; i += kWarp) {
        const int column = cluster_ * S + i;
        p_.states[row * C + column] = from_float<bf16>(
            (s_.own[group][i][warp_] - norm.x) * norm.y * p_.norm_weight[column] + p_.norm_bias[column]);
      }
    }
  }

  const FewRowsParams& p_;
  Shared& s_;
  int thread_, lane_, warp_, rank_, cluster_;
  std::uint32_t parities_ = 0, target_ = 0;  // target_: of thread 0
};

#endif

template <class Shape, class Stamps>
__global__ void __cluster_dims__(kFewRanks, 1, 1) __launch_bounds__(kFewThreads, 1)
    few_rows_step(const __grid_constant__ FewRowsParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) std::uint8_t bytes[];
  FewRowsBlock<Shape, Stamps>(p, *reinterpret_cast<typename Shape::Shared*>(bytes)).run();
#endif
}

}  // namespace attend::cuda
