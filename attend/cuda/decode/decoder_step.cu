// A decoder's token step in one kernel (decoder_step.cuh): its shapes, the packing of its weights, and its launch.
#include <memory>
#include <utility>

#include "attend/cuda/capability.h"
#include "attend/cuda/decode/decoder_step_kernel.cuh"
#include "attend/cuda/decode/many_rows_plan.h"
#include "attend/cuda/decode/many_rows_step.h"
#include "attend/cuda/decode/only_one.h"
#include "attend/cuda/launch.cuh"
#include "attend/tensor/causal_step.h"

namespace attend {
namespace cuda {
namespace {

// A layer's weights as the model has them, bf16.
struct LayerToPack {
  const bf16 *norm1_weight, *norm1_bias, *input_weight, *input_bias, *output_weight, *output_bias;
  const bf16 *norm2_weight, *norm2_bias, *expand_weight, *expand_bias, *contract_weight;
  const bf16* bias_before;  // of the layer before: what the stream lacks when this one reads it; null for the first
  std::uint8_t* packed;
};

// A first projection of one block: g, G, B, the bias that the stream lacks, and rows of the matrix [C, columns].
template <int C, int S, int J, class Column>
__device__ void pack_first(std::uint8_t* to, int rank, const bf16* g, const bf16* shift, const bf16* matrix,
                           const bf16* bias, std::int64_t columns, const bf16* lacking, Column&& column) {
  float* weight = reinterpret_cast<float*>(to);
  float *G = weight + S, *B = G + J, *lacks = B + J;
  bf16* rows = reinterpret_cast<bf16*>(lacks + S);
  for (int i = threadIdx.x; i < S; i += blockDim.x) {
    weight[i] = to_float(g[rank * S + i]);
    lacks[i] = lacking ? to_float(lacking[rank * S + i]) : 0.0f;
  }
  for (int j = threadIdx.x; j < J; j += blockDim.x) {
    float with_weight = 0, with_shift = to_float(bias[column(j)]);
    for (int k = 0; k < C; ++k) {
      const float w = to_float(matrix[k * columns + column(j)]);
      with_weight += to_float(g[k]) * w, with_shift += to_float(shift[k]) * w;
    }
    G[j] = with_weight, B[j] = with_shift;
  }
  for (int i = threadIdx.x; i < S * J; i += blockDim.x) rows[i] = matrix[(rank * S + i / J) * columns + column(i % J)];
}

template <class Shape>
__global__ void pack_layer(LayerToPack w) {
  constexpr int C = Shape::kWidth, S = Shape::kSlice, J = Shape::kProjected, U = Shape::kHidden, D = kStepHead;
  constexpr std::int64_t F = std::int64_t{U} * Shape::kHeads;
  const int rank = static_cast<int>(blockIdx.x) % kStepRanks, head = static_cast<int>(blockIdx.x) / kStepRanks;
  std::uint8_t* to = w.packed;
  pack_first<C, S, J>(to + std::int64_t{Shape::kInput} * blockIdx.x, rank, w.norm1_weight, w.norm1_bias, w.input_weight,
                      w.input_bias, 3 * C, w.bias_before, [&](int j) { return (j / D) * C + head * D + j % D; });
  to += Shape::kBlocks * Shape::kInput;
  bf16* output = reinterpret_cast<bf16*>(to + std::int64_t{Shape::kOutput} * blockIdx.x);
  for (int i = threadIdx.x; i < D * S; i += blockDim.x)
    output[i] = w.output_weight[std::int64_t{head * D + i / S} * C + rank * S + i % S];
  to += Shape::kBlocks * Shape::kOutput;
  pack_first<C, S, U>(to + std::int64_t{Shape::kExpand} * blockIdx.x, rank, w.norm2_weight, w.norm2_bias,
                      w.expand_weight, w.expand_bias, F, w.output_bias, [&](int j) { return head * U + j; });
  to += Shape::kBlocks * Shape::kExpand;
  bf16* contract = reinterpret_cast<bf16*>(to + std::int64_t{Shape::kContract} * blockIdx.x);
  for (int i = threadIdx.x; i < U * S; i += blockDim.x)
    contract[i] = w.contract_weight[std::int64_t{head * U + i / S} * C + rank * S + i % S];
}

__global__ void widen(const bf16* from, float* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = to_float(from[i]);
}

template <int C, int H, int F>
class CudaCausalStep final : public CausalStep {
 public:
  CudaCausalStep(CudaBackend& backend, const DecoderWeights& weights, std::unique_ptr<OnlyOne> only)
      : only_(std::move(only)), backend_(backend) {
    const auto layers = static_cast<std::int64_t>(weights.layers.size());
    const std::int64_t messages = std::int64_t{H} * kMaxRows * (C / 2) * 16;
    memory_ = make_tensor(backend, {layers * Of<1>::kLayer + 3 * C * 4 + 2 * messages + kStepRanks * 128}, DType::u8);
    auto* at = pointer<std::uint8_t>(memory_);
    params_ = {.packed = at, .layers = static_cast<int>(layers), .eps = weights.eps, .activation = weights.activation};
    at += layers * Of<1>::kLayer;
    const auto floats = [&](const Tensor& from) {
      float* to = reinterpret_cast<float*>(std::exchange(at, at + C * 4));
      widen<<<1, 256, 0, backend.stream()>>>(pointer<bf16>(from), to, C);
      return to;
    };
    params_.norm_weight = floats(weights.norm_weight), params_.norm_bias = floats(weights.norm_bias);
    params_.last_bias = floats(weights.layers.back().contract_bias);
    cuda_check(cudaMemsetAsync(at, 0, static_cast<std::size_t>(2 * messages + kStepRanks * 128), backend.stream()),
               "causal_step");
    params_.from_attention = reinterpret_cast<uint4*>(at),
    params_.from_hidden = reinterpret_cast<uint4*>(at + messages);
    params_.launches = reinterpret_cast<std::uint32_t*>(at + 2 * messages);
    const bf16* bias_before = nullptr;
    for (std::int64_t i = 0; i < layers; ++i) {
      const DecoderLayer& w = weights.layers[static_cast<std::size_t>(i)];
      pack_layer<Of<1>><<<H * kStepRanks, 256, 0, backend.stream()>>>(
          {.norm1_weight = pointer<bf16>(w.norm1_weight),
           .norm1_bias = pointer<bf16>(w.norm1_bias),
           .input_weight = pointer<bf16>(w.input_weight),
           .input_bias = pointer<bf16>(w.input_bias),
           .output_weight = pointer<bf16>(w.output_weight),
           .output_bias = pointer<bf16>(w.output_bias),
           .norm2_weight = pointer<bf16>(w.norm2_weight),
           .norm2_bias = pointer<bf16>(w.norm2_bias),
           .expand_weight = pointer<bf16>(w.expand_weight),
           .expand_bias = pointer<bf16>(w.expand_bias),
           .contract_weight = pointer<bf16>(w.contract_weight),
           .bias_before = std::exchange(bias_before, pointer<bf16>(w.contract_bias)),
           .packed = pointer<std::uint8_t>(memory_) + i * Of<1>::kLayer});
    }
    launch_check("causal_step");
  }

  void run(const Input& in, const Tensor& states) override {
    if (in.x.rows() == 1)
      launch<1>(in, states);
    else
      launch<2>(in, states);
  }

  // Whether the blocks of all heads can run at once, as they must.
  static bool fits() {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(H * kStepRanks), config.blockDim = dim3(kStepThreads);
    config.dynamicSmemBytes = sizeof(typename Of<2>::Shared);
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = kStepRanks, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    config.attrs = &cluster, config.numAttrs = 1;
    int clusters = 0;
    if (!allow<1>() || !allow<2>() ||
        cudaOccupancyMaxActiveClusters(&clusters, decoder_step<Of<2>>, &config) != cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    return clusters >= H;
  }

 private:
  static constexpr int kMaxRows = 2;
  template <int R>
  using Of = DecoderStepShape<C, H, F, R>;

  template <int R>
  static bool allow() {
    return cudaFuncSetAttribute(decoder_step<Of<R>>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                sizeof(typename Of<R>::Shared)) == cudaSuccess;
  }
  template <int R>
  void launch(const Input& in, const Tensor& states) {
    DecoderStepParams p = params_;
    for (std::size_t i = 0; i < in.caches.size(); ++i) p.caches[i] = pointer<bf16>(in.caches[i]);
    p.capacity = static_cast<int>(in.capacity);
    p.lengths = pointer<std::int32_t>(in.lengths), p.slots = pointer<std::int32_t>(in.slots);
    p.x = pointer<bf16>(in.x), p.states = pointer<bf16>(states);
    launch_early(true, decoder_step<Of<R>>, H * kStepRanks, kStepThreads, backend_.stream(), p, kStepRanks,
                 sizeof(typename Of<R>::Shared));
    launch_check("causal_step");
  }

  std::unique_ptr<OnlyOne> only_;
  CudaBackend& backend_;
  Tensor memory_;
  DecoderStepParams params_;
};

template <int C, int H, int F>
std::unique_ptr<CausalStep> step_of(CudaBackend& backend, const DecoderWeights& weights) {
  const DecoderLayer& first = weights.layers.front();
  if (first.input_weight.dim(0) != C || weights.heads != H || first.expand_weight.dim(1) != F) return nullptr;
  auto only = std::make_unique<OnlyOne>(backend.device());
  if (!CudaCausalStep<C, H, F>::fits() || !only->take()) return nullptr;
  return std::make_unique<CudaCausalStep<C, H, F>>(backend, weights, std::move(only));
}

}  // namespace
}  // namespace cuda

std::unique_ptr<CausalStep> CudaBackend::causal_step(const DecoderWeights& weights, std::int64_t rows) {
  using namespace cuda;
  stream();  // points this thread at the device
  const std::size_t layers = weights.layers.size();
  if (rows < 1 || rows > kManyMostRows || !has_wgmma() || layers == 0 || layers > kMaxStepLayers ||
      weights.norm_weight.dtype() != DType::bf16)
    return nullptr;
  if (rows > 2 || weights.reads_memory() || weights.output_major) return many_rows_step(*this, weights);
  // The shapes of distilled GPT-2 and GPT-2, and of a small model of ours.
  if (auto step = step_of<768, 12, 3072>(*this, weights)) return step;
  return step_of<256, 4, 1024>(*this, weights);
}

}  // namespace attend
