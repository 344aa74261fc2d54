// A token of each row of logits, drawn as tensor/sampling_params.h says, one block per row. The cuts are thresholds:
// the k-th largest logit, and the one at which the largest hold their share, are found bit by bit, and of logits equal
// to it as many are kept, the first ids first, as are still wanted. A warp owns a stretch of ids, so that what is kept
// is passed in their order.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"
#include "attend/tensor/sampling_params.h"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp;
static_assert(kWarps == kWarp);

// Larger logits have larger keys; what may not be drawn, and what is no number, has 0.
__device__ __forceinline__ unsigned key_of(float logit) {
  if (isnan(logit) || logit == -INFINITY) return 0;
  const unsigned bits = __float_as_uint(logit);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

template <class X>
__device__ __forceinline__ X warp_total(X x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The sum over the block, given to all.
template <class X>
__device__ __forceinline__ X block_total(X x, X* shared) {
  x = warp_total(x);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = x;
  __syncthreads();
  x = warp_total(shared[threadIdx.x % kWarp]);
  __syncthreads();
  return x;
}

// What is kept: keys above `key`, and of those equal to it the first `equal`; and no weight below `least`.
struct Cut {
  unsigned key = 1;
  int equal = 0x7fffffff;
  float least = 0;
};

template <class T>
class Row {
 public:
  __device__ Row(const T* x, int width, const std::uint8_t* suppressed, double* shared)
      : x_(x), suppressed_(suppressed), width_(width), shared_(shared) {}

  // Largest of what may be drawn, and the sums of the exponentials of all.
  __device__ ExpSum look(ExpSum* sums, float inverse_temperature) {
    ExpSum all;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < width_; i += kThreads) {
      const float logit = to_float(x_[i]);
      if (key(i) > 0) most = fmaxf(most, logit);
      all = merge(all, {logit, logit == -INFINITY ? 0.0f : 1.0f});
    }
    all = block_merge<kThreads>(all, sums);
    most_ = block_max<kThreads>(most, reinterpret_cast<float*>(shared_));
    factor_ = inverse_temperature;
    return all;
  }

  __device__ __forceinline__ unsigned key(int i) const {
    return suppressed_ && suppressed_[i] ? 0 : key_of(to_float(x_[i]));
  }
  __device__ __forceinline__ float weight(int i) const { return __expf((to_float(x_[i]) - most_) * factor_); }

  __device__ int count_from(unsigned from) {
    int count = 0;
    for (int i = threadIdx.x; i < width_; i += kThreads) count += key(i) >= from;
    return block_total(count, reinterpret_cast<int*>(shared_));
  }
  __device__ double mass_from(unsigned from) {
    float mass = 0;
    for (int i = threadIdx.x; i < width_; i += kThreads)
      if (key(i) >= from) mass += weight(i);
    return block_total(static_cast<double>(mass), shared_);
  }

  // The largest key for which reaches(key) holds; it holds for 1.
  template <class Reaches>
  __device__ unsigned largest_key(Reaches&& reaches) const {
    constexpr int kLast = sizeof(T) == 2 ? 16 : 0;  // bits of a bf16 that are always the same
    unsigned found = 0;
    for (int bit = 31; bit >= kLast; --bit)
      if (reaches(found | 1u << bit)) found |= 1u << bit;
    if (sizeof(T) == 2 && !(found & 0x80000000u)) found |= 0xffffu;  // of negative numbers they are ones
    return max(found, 1u);
  }

  __device__ Cut cut(const SamplingParams& draw) {
    Cut cut;
    cut.least = draw.min_p;
    if (draw.top_k == 1) return {key_of(most_), 1, 0};
    double whole = -1;  // the mass that top_p is a share of
    if (draw.top_k > 0 && draw.top_k < count_from(1)) {
      cut.key = largest_key([&](unsigned from) { return count_from(from) >= draw.top_k; });
      cut.equal = draw.top_k - (cut.key == 0xffffffffu ? 0 : count_from(cut.key + 1));
      whole = mass_above(cut.key) + cut.equal * static_cast<double>(weight_at(cut.key));
    }
    if (draw.top_p < 1) {
      if (whole < 0) whole = mass_from(1);
      const double wanted = draw.top_p * whole;
      const unsigned key = largest_key([&](unsigned from) { return from <= cut.key || mass_from(from) >= wanted; });
      const double missing = (wanted - mass_above(key)) / weight_at(key);
      const int equal = missing < 1 ? 1 : missing < 1e9 ? static_cast<int>(ceil(missing)) : 0x7fffffff;
      cut.equal = key == cut.key ? min(cut.equal, equal) : equal;
      cut.key = max(cut.key, key);
    }
    return cut;
  }

  // The token at u of the way through what is kept.
  __device__ int at_share(const Cut& cut, double u, int* ties) {
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const int each = (width_ + kThreads - 1) / kThreads * kWarp, begin = warp * each, end = min(begin + each, width_);
    int equal = 0;
    for (int i = begin + lane; i < end; i += kWarp) equal += key(i) == cut.key;
    equal = warp_total(equal);
    if (lane == 0) ties[warp] = equal;
    __syncthreads();
    int before = 0;  // ties of smaller ids
    for (int i = 0; i < warp; ++i) before += ties[i];
    double mass = 0;
    walk(cut, begin, end, before, [&](int, float weight) {
      mass += static_cast<double>(weight);
      return false;
    });
    mass = warp_total(mass);
    if (lane == 0) shared_[warp] = mass;
    __syncthreads();
    double total = 0, passed = 0;
    for (int i = 0; i < kWarps; ++i) total += shared_[i];
    // The warp whose stretch it is in; the last one with anything where rounding goes past the end.
    int owner = 0;
    double start = 0;
    for (int i = 0; i < kWarps; ++i) {
      if (shared_[i] > 0) owner = i, start = passed;
      passed += shared_[i];
      if (shared_[i] > 0 && passed > u * total) break;
    }
    if (warp != owner) return -1;
    int found = -1;
    double left = u * total - start;
    walk(cut, begin, end, before, [&](int first, float weight) {
      double sum = weight;  // up to this lane
#pragma unroll
      for (int step = 1; step < kWarp; step <<= 1) {
        const double other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
      }
      const unsigned kept = __ballot_sync(0xffffffffu, weight > 0), past = __ballot_sync(0xffffffffu, sum > left);
      if (kept) found = first + 31 - __clz(static_cast<int>(kept));
      left -= __shfl_sync(0xffffffffu, sum, kWarp - 1);
      if (!(kept & past)) return false;
      found = first + __ffs(static_cast<int>(kept & past)) - 1;
      return true;
    });
    return found;
  }

 private:
  __device__ double mass_above(unsigned key) { return key == 0xffffffffu ? 0.0 : mass_from(key + 1); }
  __device__ __forceinline__ float weight_at(unsigned key) const {
    const float logit = __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
    return __expf((logit - most_) * factor_);
  }
  // step(first id, this lane's weight, 0 where it is not kept) for 32 ids at a time, until it says that it is done.
  template <class Step>
  __device__ void walk(const Cut& cut, int begin, int end, int before, Step&& step) const {
    const int lane = threadIdx.x % kWarp;
    for (int first = begin; first < end; first += kWarp) {
      const int i = first + lane;
      const unsigned mine = i < end ? key(i) : 0;
      const unsigned equal = __ballot_sync(0xffffffffu, mine > 0 && mine == cut.key);
      const int rank = before + __popc(equal & ((1u << lane) - 1));
      before += __popc(equal);
      const bool kept = mine > cut.key || (mine > 0 && mine == cut.key && rank < cut.equal);
      const float w = kept ? weight(i) : 0.0f;
      if (step(first, w >= cut.least ? w : 0.0f)) return;
    }
  }

  const T* x_;
  const std::uint8_t* suppressed_;
  int width_;
  double* shared_;  // [kWarps]
  float most_ = 0, factor_ = 1;
};

struct DrawParams {
  std::int64_t width;
  const std::uint8_t* suppressed;
  const std::int32_t *draws, *positions;
  std::int32_t* tokens;
  float *logits, *log_sums;
};

template <class T>
__global__ void __launch_bounds__(kThreads, 1) draw_tokens_kernel(const T* x, const DrawParams p, bool keeps_row) {
  __shared__ double shared[kWarps];
  __shared__ ExpSum sums[kWarps];
  __shared__ int ties[kWarps];
  extern __shared__ unsigned char row_bytes[];
  const T* row = x + blockIdx.x * p.width;
  const int width = static_cast<int>(p.width);
  if (keeps_row) {  // it is read many times
    T* copy = reinterpret_cast<T*>(row_bytes);
    for (int i = threadIdx.x; i < width; i += kThreads) copy[i] = row[i];
    __syncthreads();
    row = copy;
  }
  const SamplingParams draw = draw_of_words(p.draws + blockIdx.x * kDrawWords, p.positions[blockIdx.x]);
  Row<T> of(row, width, p.suppressed, shared);
  const ExpSum sum = of.look(sums, 1.0f / draw.temperature);
  if (threadIdx.x == 0) {
    p.log_sums[blockIdx.x] = sum.max + logf(sum.sum);
    p.tokens[blockIdx.x] = 0;  // where nothing has a weight
    p.logits[blockIdx.x] = to_float(row[0]);
  }
  const int token = of.at_share(of.cut(draw), number_of(draw), ties);
  if (token < 0 || threadIdx.x % kWarp != 0) return;
  p.tokens[blockIdx.x] = token;
  p.logits[blockIdx.x] = to_float(row[token]);
}

}  // namespace
}  // namespace cuda

void CudaBackend::sample_tokens(const SampledTokens& args) {
  using namespace cuda;
  if (args.x.size() == 0) return;
  with_float(args.x.dtype(), "sample_tokens", [&](auto type) {
    using T = typename decltype(type)::type;
    constexpr int kOwn = 1024;  // bytes of shared memory beside the row
    const std::size_t bytes = static_cast<std::size_t>(args.x.width()) * sizeof(T);
    int most = 0;
    cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device()), "sample_tokens");
    const bool keeps_row = bytes + kOwn <= static_cast<std::size_t>(most);
    const auto kernel = draw_tokens_kernel<T>;
    if (keeps_row) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    kernel<<<blocks_for(args.x.rows(), 1), kThreads, keeps_row ? bytes : 0, stream()>>>(
        pointer<T>(args.x),
        DrawParams{.width = args.x.width(),
                   .suppressed = pointer<std::uint8_t>(args.suppressed),
                   .draws = pointer<std::int32_t>(args.draws),
                   .positions = pointer<std::int32_t>(args.positions),
                   .tokens = pointer<std::int32_t>(args.tokens),
                   .logits = pointer<float>(args.logits),
                   .log_sums = pointer<float>(args.log_sums)},
        keeps_row);
  });
  launch_check("sample_tokens");
}

}  // namespace attend
