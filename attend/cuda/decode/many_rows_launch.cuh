// A decoder's token step of up to 64 rows in one kernel (many_rows_kernel.cuh): the packing of its weights, and its
// launch.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "attend/cuda/capability.h"
#include "attend/cuda/decode/hopper.cuh"
#include "attend/cuda/decode/many_rows_kernel.cuh"
#include "attend/cuda/decode/only_one.h"
#include "attend/cuda/launch.cuh"

namespace attend::cuda {

// A product's weights as the model has them, bf16: matrix [K, N] or [N, K], and the norm in front if there is one.
struct ProductToPack {
  const bf16 *matrix, *bias, *norm_weight, *norm_bias;
  std::uint8_t* packed;  // of all blocks
  bool output_major;     // [N, K]
};

template <class P>
__global__ void pack_many_product(ProductToPack w, int bytes) {
  const int rank = static_cast<int>(blockIdx.x) % kManyRanks, cluster = static_cast<int>(blockIdx.x) / kManyRanks;
  bf16* weights = reinterpret_cast<bf16*>(w.packed + std::int64_t{bytes} * blockIdx.x);
  for (int i = threadIdx.x; i < P::kColumns * P::kSlice; i += blockDim.x) {
    const int j = w.output_major ? i / P::kSlice : i % P::kColumns,
              k = w.output_major ? i % P::kSlice : i / P::kColumns;
    const std::int64_t row = P::summed(rank, k), column = P::column(cluster, j);
    weights[P::weight_at(j, k)] = w.matrix[w.output_major ? column * P::kK + row : row * P::kN + column];
  }
  float* to = reinterpret_cast<float*>(weights + P::kColumns * P::kSlice);
  if (w.norm_weight) {
    for (int k = threadIdx.x; k < P::kSlice; k += blockDim.x) {
      to[k] = to_float(w.norm_weight[P::summed(rank, k)]);
      to[P::kSlice + k] = to_float(w.norm_bias[P::summed(rank, k)]);
    }
    to += 2 * P::kSlice;
  }
  for (int j = threadIdx.x; j < P::kColumns; j += blockDim.x) to[j] = to_float(w.bias[P::column(cluster, j)]);
}

template <class T>
__global__ void widen_to_floats(const T* from, float* to, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = to_float(from[i]);
}

template <class Shape, int Tiles, class Stamps>
__global__ void __cluster_dims__(kManyRanks, 1, 1) __launch_bounds__(kManyThreads, 1)
    many_rows_kernel(const __grid_constant__ ManyRowsParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::uint8_t many_bytes[];
  ManyRowsBlock<Shape, Tiles, Hopper, Stamps>(p, *reinterpret_cast<typename Shape::Shared*>(many_bytes)).run();
#endif
}

template <class Shape, class Stamps = NoStamps>
class ManyRowsStep final : public CausalStep {
 public:
  // Null for another shape, where not all blocks can run at once, and while another decoder holds the GPU's kernel.
  static std::unique_ptr<ManyRowsStep> make(CudaBackend& backend, const DecoderWeights& weights) {
    const DecoderLayer& first = weights.layers.front();
    const int out = weights.output_major ? 0 : 1;
    if (first.expand_weight.dim(1 - out) != Shape::kWidth || weights.heads != Shape::kHeads ||
        first.expand_weight.dim(out) != Shape::kHidden || weights.reads_memory() != Shape::kMemory)
      return nullptr;
    auto only = std::make_unique<OnlyOne>(backend.device());
    const std::optional<Kernels> kernels = allowed_kernels();
    if (!kernels || !only->take()) return nullptr;
    return std::unique_ptr<ManyRowsStep>(new ManyRowsStep(backend, weights, std::move(only), *kernels));
  }

  void run(const Input& in, const Tensor& states) override {
    const auto rows = static_cast<int>(in.x.rows());
    check(rows <= kManyMostRows, "causal_step: {} rows, and the kernel takes {}", rows, kManyMostRows);
    ManyRowsParams p = params_;
    for (std::size_t i = 0; i < in.caches.size(); ++i) p.caches[i] = pointer<std::uint16_t>(in.caches[i]);
    p.capacity = in.capacity, p.rows = rows;
    p.lengths = pointer<std::int32_t>(in.lengths), p.slots = pointer<std::int32_t>(in.slots);
    p.x = pointer<std::uint16_t>(in.x), p.states = pointer<std::uint16_t>(states);
    if (in.places.defined()) p.places = pointer<std::int32_t>(in.places);
    if constexpr (Shape::kMemory) take_memory(p, in.memory);
    // A layer's caches and the next one's weights fit into the L2 cache beside each other.
    constexpr int kAheadBytes = 24 << 20, kMostAhead = 256;
    p.keys_ahead = std::min(kMostAhead, kAheadBytes / (rows * 2 * Shape::kWidth * static_cast<int>(sizeof(bf16))));
    launch_early(true, kernels_[number_for(rows)], Shape::kBlocks, kManyThreads, backend_.stream(), p, kManyRanks,
                 sizeof(typename Shape::Shared));
    launch_check("causal_step");
  }
  bool follows_rows() const override { return true; }
  void set_stamps(const StampParams& stamps) { params_.stamps = stamps; }

 private:
  static_assert(sizeof(typename Shape::Shared) <= kSharedOfBlock);
  using Kernel = void (*)(ManyRowsParams);
  using Kernels = std::array<Kernel, 4>;  // of 1, 2, 4 and 8 tiles of rows
  static std::size_t number_for(int rows) { return rows <= 8 ? 0 : rows <= 16 ? 1 : rows <= 32 ? 2 : 3; }

  // If all their blocks can run at once, as they must. A kernel has one address in each object file, and what was
  // allowed by one address counts for that alone: so these are the ones to launch.
  static std::optional<Kernels> allowed_kernels() {
    constexpr Kernels kKernels = {many_rows_kernel<Shape, 1, Stamps>, many_rows_kernel<Shape, 2, Stamps>,
                                  many_rows_kernel<Shape, 4, Stamps>, many_rows_kernel<Shape, 8, Stamps>};
    for (const Kernel kernel : kKernels) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3(Shape::kBlocks), config.blockDim = dim3(kManyThreads);
      config.dynamicSmemBytes = sizeof(typename Shape::Shared);
      cudaLaunchAttribute cluster = {};
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim.x = kManyRanks, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
      config.attrs = &cluster, config.numAttrs = 1;
      int clusters = 0;
      if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(typename Shape::Shared)) !=
              cudaSuccess ||
          cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess) {
        cudaGetLastError();
        return std::nullopt;
      }
      if (clusters < Shape::kClusters) return std::nullopt;
    }
    return kKernels;
  }

  ManyRowsStep(CudaBackend& backend, const DecoderWeights& weights, std::unique_ptr<OnlyOne> only,
               const Kernels& kernels)
      : only_(std::move(only)), backend_(backend), kernels_(kernels) {
    constexpr int C = Shape::kWidth, F = Shape::kHidden;
    const auto layers = static_cast<std::int64_t>(weights.layers.size());
    packed_ = make_tensor(backend, {layers * Shape::kLayerBytes}, DType::u8);
    for (std::int64_t i = 0; i < layers; ++i)
      pack(weights.layers[static_cast<std::size_t>(i)], weights.output_major,
           pointer<std::uint8_t>(packed_) + i * Shape::kLayerBytes);

    constexpr std::int64_t kRows = kManyMostRows, kCounters = 256;
    constexpr std::int64_t kBytes =
        kCounters + 2 * C * 4 +
        kRows * (Shape::kStreams * (C * 4 + Shape::kClusters * 8) + Shape::kAttentions * C * 2 + F * 2);
    memory_ = make_tensor(backend, {kBytes}, DType::u8);
    auto* at = pointer<std::uint8_t>(memory_);
    cuda_check(cudaMemsetAsync(at, 0, static_cast<std::size_t>(kBytes), backend.stream()), "causal_step");
    const auto take = [&](std::int64_t bytes) { return std::exchange(at, at + bytes); };
    params_ = {.packed = pointer<std::uint8_t>(packed_),
               .layers = static_cast<int>(layers),
               .eps = weights.eps,
               .activation = weights.activation};
    params_.arrivals = reinterpret_cast<std::uint32_t*>(take(kCounters));
    params_.before = params_.arrivals + 32;
    const auto floats = [&](const Tensor& from) {
      float* to = reinterpret_cast<float*>(take(C * 4));
      widen_to_floats<<<1, 256, 0, backend.stream()>>>(pointer<bf16>(from), to, C);
      return to;
    };
    params_.norm_weight = floats(weights.norm_weight), params_.norm_bias = floats(weights.norm_bias);
    params_.stream = reinterpret_cast<float*>(take(Shape::kStreams * kRows * C * 4));
    params_.moments = reinterpret_cast<float*>(take(Shape::kStreams * kRows * Shape::kClusters * 8));
    params_.mixed = reinterpret_cast<std::uint16_t*>(take(Shape::kAttentions * kRows * C * 2));
    params_.hidden = reinterpret_cast<std::uint16_t*>(take(kRows * F * 2));
    launch_check("causal_step");
  }

  static void take_memory(ManyRowsParams& p, const Memory& memory) {
    check(std::ssize(memory.keys_values) == p.layers, "causal_step: memories of {} layers, and there are {}",
          memory.keys_values.size(), p.layers);
    for (std::size_t i = 0; i < memory.keys_values.size(); ++i)
      p.memories[i] = pointer<std::uint16_t>(memory.keys_values[i]);
    const Tensor& first = memory.keys_values.front();
    check(first.rank() == 3 && first.width() == 2 * Shape::kWidth && p.rows % first.dim(0) == 0,
          "causal_step: a memory {} for {} rows", first.shape(), p.rows);
    p.memory_room = static_cast<int>(first.dim(1)), p.group = p.rows / static_cast<int>(first.dim(0));
    if (memory.lengths.defined()) p.memory_lengths = pointer<std::int32_t>(memory.lengths);
  }

  void pack(const DecoderLayer& w, bool output_major, std::uint8_t* to) {
    const auto one = [&](auto product, const Tensor& matrix, const Tensor& bias, const Tensor& norm_weight,
                         const Tensor& norm_bias, std::int64_t at, int bytes) {
      pack_many_product<decltype(product)>
          <<<Shape::kBlocks, 256, 0, backend_.stream()>>>({.matrix = pointer<bf16>(matrix),
                                                           .bias = pointer<bf16>(bias),
                                                           .norm_weight = pointer<bf16>(norm_weight),
                                                           .norm_bias = pointer<bf16>(norm_bias),
                                                           .packed = to + at,
                                                           .output_major = output_major},
                                                          bytes);
    };
    one(typename Shape::Input{}, w.input_weight, w.input_bias, w.norm1_weight, w.norm1_bias, Shape::kInputAt,
        Shape::kInputBytes);
    one(typename Shape::Output{}, w.output_weight, w.output_bias, {}, {}, Shape::kOutputAt, Shape::kOutputBytes);
    one(typename Shape::Expand{}, w.expand_weight, w.expand_bias, w.norm2_weight, w.norm2_bias, Shape::kExpandAt,
        Shape::kExpandBytes);
    one(typename Shape::Contract{}, w.contract_weight, w.contract_bias, {}, {}, Shape::kContractAt,
        Shape::kContractBytes);
    if constexpr (Shape::kMemory) {
      one(typename Shape::Query{}, w.memory_query_weight, w.memory_query_bias, w.memory_norm_weight, w.memory_norm_bias,
          Shape::kQueryAt, Shape::kQueryBytes);
      one(typename Shape::Output{}, w.memory_output_weight, w.memory_output_bias, {}, {}, Shape::kMemoryOutputAt,
          Shape::kOutputBytes);
    }
  }

  std::unique_ptr<OnlyOne> only_;
  CudaBackend& backend_;
  Kernels kernels_;
  Tensor packed_, memory_;
  ManyRowsParams params_;
};

}  // namespace attend::cuda
