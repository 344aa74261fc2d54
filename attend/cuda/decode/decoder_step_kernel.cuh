// The kernel of decoder_step.cuh: the walk of one block through all layers.
#pragma once

#include "attend/cuda/decode/decoder_step.cuh"

namespace attend::cuda {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class Shape>
class DecoderStepBlock {
 public:
  using Shared = typename Shape::Shared;
  static constexpr int C = Shape::kWidth, H = Shape::kHeads, R = Shape::kRows, S = Shape::kSlice;
  static constexpr int kProjected = Shape::kProjected, kHidden = Shape::kHidden, D = kStepHead;

  __device__ DecoderStepBlock(const DecoderStepParams& p, Shared& shared)
      : p_(p),
        s_(shared),
        thread_(static_cast<int>(threadIdx.x)),
        lane_(thread_ % kWarp),
        warp_(thread_ / kWarp),
        rank_(static_cast<int>(blockIdx.x) % kStepRanks),
        head_(static_cast<int>(blockIdx.x) / kStepRanks),
        key_group_(rank_ * (kStepWarps * 4) + thread_ / 8) {}

  __device__ void run() {
    begin();
    for (int layer = 0; layer < p_.layers; ++layer) {
      project(layer);
      attend(layer);
      feed_forward(layer);
    }
    if (head_ == 0) finish();
    cluster_barrier();  // nobody leaves while others may still write into its memory
  }

 private:
  // Barriers of shared memory: one for each kind of weights, and one for each kind of message.
  enum Gate { kInput, kOutput, kExpand, kContract, kProjections, kSoftmaxes, kHiddenUnits, kGates };
  __device__ std::uint32_t gate(int which) { return shared_address(&s_.barriers[which]); }
  __device__ void wait(Gate which) {
    barrier_wait(gate(which), parities_ >> which & 1);
    parities_ ^= 1u << which;
  }

  __device__ void begin() {
    if (thread_ == 0) {
      for (int i = 0; i < kGates; ++i) barrier_init(gate(i), 1);
      barriers_are_ready();
      shared_for_copies();
      fetch<kInput>(0), fetch<kOutput>(0), fetch<kExpand>(0), fetch<kContract>(0);
    }
    wait_for_kernel_before();
    launch_ = *reinterpret_cast<const volatile std::uint32_t*>(p_.launches + rank_ * 32);
    if (thread_ < R) s_.lengths[thread_] = p_.lengths[thread_], s_.slots[thread_] = p_.slots[thread_];
    for (int i = thread_; i < R * S; i += kStepThreads)
      s_.stream[i / S][i % S] = to_float(p_.x[(i / S) * C + rank_ * S + i % S]);
    cluster_barrier();
    let_next_kernel_start();
    fetch_keys(0);
  }

  // One thread orders this block's weights of a layer.
  template <Gate Which>
  __device__ void fetch(int layer) {
    if (layer >= p_.layers) return;
    constexpr std::int64_t kBefore =
        Shape::kBlocks * (Which == kInput    ? 0
                          : Which == kOutput ? Shape::kInput
                          : Which == kExpand ? Shape::kInput + Shape::kOutput
                                             : Shape::kInput + Shape::kOutput + Shape::kExpand);
    constexpr int kBytes = Which == kInput    ? Shape::kInput
                           : Which == kOutput ? Shape::kOutput
                           : Which == kExpand ? Shape::kExpand
                                              : Shape::kContract;
    const std::uint8_t* to = Which == kInput    ? s_.input
                             : Which == kOutput ? s_.output
                             : Which == kExpand ? s_.expand
                                                : s_.contract;
    barrier_expect(gate(Which), kBytes);
    copy_bytes(shared_address(to), p_.packed + layer * Shape::kLayer + kBefore + std::int64_t{kBytes} * blockIdx.x,
               kBytes, gate(Which));
  }

  // This rank's message to all others of the cluster. Its parts are in place when all threads have come here.
  template <class Message>
  __device__ void send_to_all(Message (&messages)[kStepRanks], Gate which) {
    shared_for_copies();
    __syncthreads();
    const Message& own = messages[rank_];
    if (thread_ == 0) barrier_expect(gate(which), (kStepRanks - 1) * sizeof(Message));
    if (thread_ < kStepRanks && thread_ != rank_) send_bytes(&own, &own, sizeof(Message), gate(which), thread_);
  }

  // stream += bias + what all heads have added to this rank's columns, as it comes; then its product with the norm's
  // weight, and its moments.
  __device__ void read_stream(const uint4* parts, std::uint32_t flag, bool first, const float* bias,
                              const float* weight) {
    constexpr int kPairs = S / 2, kAcross = kStepThreads / kPairs, kEach = (H + kAcross - 1) / kAcross;
    const int pair = thread_ % kPairs, from = thread_ / kPairs;
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (first || from >= kAcross) break;
      uint4 got[kEach];
      bool all;
      do {
        all = true;
#pragma unroll
        for (int i = 0; i < kEach; ++i)
          if (const int head = from + i * kAcross; head < H)
            got[i] = load_message(parts + (static_cast<std::int64_t>(head) * R + r) * (C / 2) + rank_ * kPairs + pair);
#pragma unroll
        for (int i = 0; i < kEach; ++i)
          if (from + i * kAcross < H) all = all && got[i].y == flag && got[i].w == flag;
      } while (!all);
      float2 sum = {};
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        if (from + i * kAcross < H) sum.x += __uint_as_float(got[i].x), sum.y += __uint_as_float(got[i].z);
      reinterpret_cast<float2*>(s_.sums)[(r * kAcross + from) * kPairs + pair] = sum;
    }
    __syncthreads();
    if (thread_ < S) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        float x = s_.stream[r][thread_];
        if (!first) {
          x += bias[thread_];
#pragma unroll
          for (int i = 0; i < kAcross; ++i) x += s_.sums[(r * kAcross + i) * S + thread_];
        }
        s_.stream[r][thread_] = x;
        s_.scaled[r][thread_] = x * weight[thread_];
        const float sum = warp_sum(x), squares = warp_sum(x * x);
        if (lane_ == 0) s_.moments[r][0][warp_] = sum, s_.moments[r][1][warp_] = squares;
      }
    }
    __syncthreads();
  }
  // Of row r over this rank's columns: Σ x and Σ x².
  __device__ void put_moments(float* to, int r) {
    float sum = 0, squares = 0;
#pragma unroll
    for (int w = 0; w < S / kWarp; ++w) sum += s_.moments[r][0][w], squares += s_.moments[r][1][w];
    to[0] = sum, to[1] = squares;
  }
  struct Norm {
    float mean, rstd;
  };
  template <class Message>
  __device__ Norm norm_of(Message (&from)[kStepRanks], int r) {
    float sum = 0, squares = 0;
#pragma unroll
    for (int k = 0; k < kStepRanks; ++k) sum += from[k].extra(r)[0], squares += from[k].extra(r)[1];
    const float mean = sum / C;
    return {mean, rsqrtf(fmaxf(squares / C - mean * mean, 0.0f) + p_.eps)};
  }

  // What a first projection needs: the norm's weight, G, B, the bias that the stream lacks, and the matrix.
  template <int J>
  struct FirstProjection {
    __device__ explicit FirstProjection(const std::uint8_t* bytes)
        : weight(reinterpret_cast<const float*>(bytes)),
          G(weight + S),
          B(G + J),
          bias(B + J),
          matrix(reinterpret_cast<const bf16*>(bias + S)) {}
    const float *weight, *G, *B, *bias;
    const bf16* matrix;
  };
  // The normed stream's projection to J columns, by all ranks together: take(row, column, value), a thread per column.
  template <int J, class Message, class Take>
  __device__ void first_projection(const FirstProjection<J>& w, Message (&all)[kStepRanks], Gate which, Take&& take) {
    Message& own = all[rank_];
    if (thread_ < R) put_moments(own.extra(thread_), thread_);
    step_product<R, S, J>(w.matrix, &s_.scaled[0][0], S, s_.sums,
                          [&](int r, int j, float x, float) { own.of[r][j] = x; });
    send_to_all(all, which);
    wait(which);
    if (thread_ < J)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const Norm norm = norm_of(all, r);
        float x = 0;
#pragma unroll
        for (int k = 0; k < kStepRanks; ++k) x += all[k].of[r][thread_];
        take(r, thread_, norm.rstd * (x - norm.mean * w.G[thread_]) + w.B[thread_]);
      }
  }
  // What this head or these hidden units add to the stream, to whoever owns the columns.
  template <int K>
  __device__ void second_projection(const std::uint8_t* matrix, const float* x, int row, uint4* parts) {
    step_product<R, K, S>(reinterpret_cast<const bf16*>(matrix), x, row, s_.sums, [&](int r, int j, float a, float b) {
      if (j % 2 == 0)
        store_message(parts + (static_cast<std::int64_t>(head_) * R + r) * (C / 2) + rank_ * (S / 2) + j / 2, flag_, a,
                      b);
    });
    __syncthreads();  // the sums may be written again
  }

  // q, k and v of this head; the newest key and value also go to the cache.
  __device__ void project(int layer) {
    flag_ = launch_ * static_cast<std::uint32_t>(p_.layers) + static_cast<std::uint32_t>(layer) + 1;
    wait(kInput);
    const FirstProjection<kProjected> w(s_.input);
    read_stream(p_.from_hidden, flag_ - 1, layer == 0, w.bias, w.weight);
    first_projection(w, s_.projected, kProjections, [&](int r, int j, float x) {
      constexpr float kScale = 0.125f * kLog2OfE;  // 1 / √64, for powers of two
      static_assert(D == 64);
      const bf16 rounded = from_float<bf16>(x);
      s_.full[r][j] = j < D ? x * kScale : to_float(rounded);
      if (rank_ == head_ % kStepRanks && j >= D)
        p_.caches[layer][std::int64_t{2} * C * s_.slots[r] + (j / D - 1) * C + head_ * D + j % D] = rounded;
    });
    __syncthreads();
    if (thread_ == 0) fetch<kInput>(layer + 1);
  }

  // Eight lanes read a key: 48 at a time in a block, 384 in a cluster. The first few are loaded a layer ahead.
  static constexpr int kKeyGroups = kStepRanks * kStepWarps * 4, kKeysAhead = R == 1 ? 3 : 1;
  __device__ const bf16* key_at(int layer, int r, int key) const {
    return p_.caches[layer] + (std::int64_t{r} * p_.capacity + key) * 2 * C + head_ * D + lane_ % 8 * 8;
  }
  __device__ void fetch_keys(int layer) {
    if (layer >= p_.layers) return;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int i = 0; i < kKeysAhead; ++i)
        if (const int key = key_group_ + i * kKeyGroups; key < s_.lengths[r] - 1) {
          keys_[r][i] = __ldcg(reinterpret_cast<const uint4*>(key_at(layer, r, key)));
          values_[r][i] = __ldcg(reinterpret_cast<const uint4*>(key_at(layer, r, key) + C));
        }
  }
  // A softmax under way: o is this lane's 8 columns of Σ 2^(score - maximum) v.
  struct Partial {
    float maximum = -INFINITY, sum = 0, o[8] = {};
  };
  // A score's or a partial softmax's weight beside the maximum; nothing seen weighs nothing.
  __device__ static float weight_of(float score, float maximum) {
    return maximum == -INFINITY ? 0.0f : exp2_fast(score - maximum);
  }
  __device__ void take_key(Partial& x, const float (&q)[8], int r, int key, const uint4& k_bits, const uint4& v_bits) {
    float k[8], v[8];
    if (key < s_.lengths[r] - 1) {
      load<8>(reinterpret_cast<const bf16*>(&k_bits), k);
      load<8>(reinterpret_cast<const bf16*>(&v_bits), v);
    } else {  // the newest
#pragma unroll
      for (int e = 0; e < 8; ++e)
        k[e] = s_.full[r][D + lane_ % 8 * 8 + e], v[e] = s_.full[r][2 * D + lane_ % 8 * 8 + e];
    }
    float score = 0;
#pragma unroll
    for (int e = 0; e < 8; ++e) score += q[e] * k[e];
#pragma unroll
    for (int step = 4; step > 0; step >>= 1) score += __shfl_xor_sync(0xffffffffu, score, step);
    if (key >= s_.lengths[r]) return;
    const float top = fmaxf(x.maximum, score), scale = weight_of(x.maximum, top), weight = weight_of(score, top);
    x.maximum = top;
    x.sum = x.sum * scale + weight;
#pragma unroll
    for (int e = 0; e < 8; ++e) x.o[e] = x.o[e] * scale + weight * v[e];
  }
  __device__ Partial softmax_of_keys(int layer, int r) {
    Partial x;
    float q[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) q[e] = s_.full[r][lane_ % 8 * 8 + e];
    const int length = s_.lengths[r];
#pragma unroll
    for (int i = 0; i < kKeysAhead; ++i)
      if (const int key = key_group_ + i * kKeyGroups; __any_sync(0xffffffffu, key < length))
        take_key(x, q, r, key, keys_[r][i], values_[r][i]);
    for (int key = key_group_ + kKeysAhead * kKeyGroups; __any_sync(0xffffffffu, key < length); key += kKeyGroups) {
      uint4 k = {}, v = {};
      if (key < length - 1) {
        k = __ldcg(reinterpret_cast<const uint4*>(key_at(layer, r, key)));
        v = __ldcg(reinterpret_cast<const uint4*>(key_at(layer, r, key) + C));
      }
      take_key(x, q, r, key, k, v);
    }
#pragma unroll
    for (int step = 8; step <= 16; step <<= 1) {
      const float other = __shfl_xor_sync(0xffffffffu, x.maximum, step), top = fmaxf(x.maximum, other);
      const float mine = weight_of(x.maximum, top), theirs = weight_of(other, top);
      x.maximum = top;
      x.sum = x.sum * mine + __shfl_xor_sync(0xffffffffu, x.sum, step) * theirs;
#pragma unroll
      for (int e = 0; e < 8; ++e) x.o[e] = x.o[e] * mine + __shfl_xor_sync(0xffffffffu, x.o[e], step) * theirs;
    }
    return x;
  }

  // The head's attention over all keys, each rank an eighth of them, and its projection.
  __device__ void attend(int layer) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const Partial x = softmax_of_keys(layer, r);
      if (lane_ < 8) {
        float4* to = reinterpret_cast<float4*>(s_.sums + (r * kStepWarps + warp_) * D + lane_ * 8);
        to[0] = make_float4(x.o[0], x.o[1], x.o[2], x.o[3]);
        to[1] = make_float4(x.o[4], x.o[5], x.o[6], x.o[7]);
      }
      if (lane_ == 0) s_.softmaxes[r][warp_][0] = x.maximum, s_.softmaxes[r][warp_][1] = x.sum;
    }
    fetch_keys(layer + 1);
    __syncthreads();
    for (int i = thread_; i < R * D; i += kStepThreads) {  // joins the warps
      const int r = i / D, d = i % D;
      float top = -INFINITY, sum = 0, o = 0;
#pragma unroll
      for (int w = 0; w < kStepWarps; ++w) top = fmaxf(top, s_.softmaxes[r][w][0]);
#pragma unroll
      for (int w = 0; w < kStepWarps; ++w) {
        const float weight = weight_of(s_.softmaxes[r][w][0], top);
        sum += weight * s_.softmaxes[r][w][1], o += weight * s_.sums[(r * kStepWarps + w) * D + d];
      }
      s_.mixed[rank_].of[r][d] = o;
      if (d == 0) s_.mixed[rank_].extra(r)[0] = top, s_.mixed[rank_].extra(r)[1] = sum;
    }
    send_to_all(s_.mixed, kSoftmaxes);
    wait(kSoftmaxes);
    for (int i = thread_; i < R * D; i += kStepThreads) {  // joins the ranks
      const int r = i / D, d = i % D;
      float top = -INFINITY, sum = 0, o = 0;
#pragma unroll
      for (int k = 0; k < kStepRanks; ++k) top = fmaxf(top, s_.mixed[k].extra(r)[0]);
#pragma unroll
      for (int k = 0; k < kStepRanks; ++k) {
        const float weight = weight_of(s_.mixed[k].extra(r)[0], top);
        sum += weight * s_.mixed[k].extra(r)[1], o += weight * s_.mixed[k].of[r][d];
      }
      s_.out[r][d] = o / sum;
    }
    wait(kOutput);
    __syncthreads();
    second_projection<D>(s_.output, &s_.out[0][0], D, p_.from_attention);
    if (thread_ == 0) fetch<kOutput>(layer + 1);
  }

  __device__ void feed_forward(int layer) {
    wait(kExpand);
    const FirstProjection<kHidden> w(s_.expand);
    read_stream(p_.from_attention, flag_, false, w.bias, w.weight);
    first_projection(w, s_.hidden, kHiddenUnits, [&](int r, int j, float x) {
      float value[1] = {x};
      activate(p_.activation, value);
      s_.full[r][j] = value[0];
    });
    wait(kContract);
    __syncthreads();
    if (thread_ == 0) fetch<kExpand>(layer + 1);
    second_projection<kHidden>(s_.contract, &s_.full[0][0], Shape::kMost, p_.from_hidden);
    if (thread_ == 0) fetch<kContract>(layer + 1);
  }

  // The last sums and the norm after the last layer, by the first cluster.
  __device__ void finish() {
    read_stream(p_.from_hidden, flag_, false, p_.last_bias + rank_ * S, p_.norm_weight + rank_ * S);
    if (thread_ < R) put_moments(s_.projected[rank_].extra(thread_), thread_);
    send_to_all(s_.projected, kProjections);
    wait(kProjections);
    for (int i = thread_; i < R * S; i += kStepThreads) {
      const int r = i / S, column = rank_ * S + i % S;
      const Norm norm = norm_of(s_.projected, r);
      const float x = (s_.stream[r][i % S] - norm.mean) * norm.rstd;
      p_.states[r * C + column] = from_float<bf16>(x * p_.norm_weight[column] + p_.norm_bias[column]);
    }
    // All blocks of this rank have read the number: their last messages were here.
    if (thread_ == 0) *reinterpret_cast<volatile std::uint32_t*>(p_.launches + rank_ * 32) = launch_ + 1;
  }

  const DecoderStepParams& p_;
  Shared& s_;
  int thread_, lane_, warp_, rank_, head_;
  int key_group_;
  std::uint32_t parities_ = 0, launch_ = 0, flag_ = 0;
  uint4 keys_[R][kKeysAhead], values_[R][kKeysAhead];
};

#endif

template <class Shape>
__global__ void __cluster_dims__(kStepRanks, 1, 1) __launch_bounds__(kStepThreads, 1)
    decoder_step(const __grid_constant__ DecoderStepParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) std::uint8_t bytes[];
  DecoderStepBlock<Shape>(p, *reinterpret_cast<typename Shape::Shared*>(bytes)).run();
#endif
}

}  // namespace attend::cuda
