// A decoder's token step of up to 64 rows in one kernel (dealt_rows_kernel.cuh): the packing of its weights, and its
// launch.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "attend/cuda/decode/dealt_rows_kernel.cuh"
#include "attend/cuda/decode/few_rows_launch.cuh"
#include "attend/cuda/decode/hopper.cuh"
#include "attend/cuda/launch.cuh"

namespace attend::cuda {

template <class P>
__global__ void pack_dealt_product(ProductToPack w, int bytes) {
  const int rank = static_cast<int>(blockIdx.x) % kDealtRanks, cluster = static_cast<int>(blockIdx.x) / kDealtRanks;
  bf16* weights = reinterpret_cast<bf16*>(w.packed + std::int64_t{bytes} * blockIdx.x);
  for (int i = threadIdx.x; i < P::kColumns * P::kSlice; i += blockDim.x) {
    const int j = i % P::kColumns, k = i / P::kColumns;
    weights[P::weight_at(j, k)] = w.matrix[std::int64_t{P::summed(rank, k)} * P::kN + P::column(cluster, j)];
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

// Tuning::kTuning is a DealtTuning: nvcc cannot launch kernels that have one as an argument themselves.
template <class Shape, int Tiles, class Tuning, class Stamps>
__global__ void __cluster_dims__(kDealtRanks, 1, 1) __launch_bounds__(kDealtThreads, 1)
    dealt_rows_step(const __grid_constant__ DealtRowsParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::uint8_t dealt_bytes[];
  DealtRowsBlock<Shape, Tiles, Tuning::kTuning, Hopper, Stamps>(p,
                                                                *reinterpret_cast<typename Shape::Shared*>(dealt_bytes))
      .run();
#endif
}

// A tuning as a kernel of so many tiles of rows has it: wgmma, bf16 and asking early are for many rows, stores from
// registers for few. Kernels that would be the same are one.
template <bool Messages, bool Groups, DealtWay Way, bool Half, bool Eager>
struct DealtTuned {
  static constexpr DealtTuning kTuning = {
      .messages = Messages, .groups = Groups, .way = Way, .half = Half, .eager = Eager};
};
template <class Tuning, int Tiles>
using DealtTunedFor =
    DealtTuned<Tuning::kTuning.messages, Tuning::kTuning.groups && Tiles >= 4,
               Tuning::kTuning.way == DealtWay::registers && Tiles >= 4 ? DealtWay::threads : Tuning::kTuning.way,
               Tuning::kTuning.half && Tiles >= 4, Tuning::kTuning.eager && Tiles >= 4>;

template <class Shape, class Tuning, class Stamps = NoStamps>
class DealtRowsStep final : public CausalStep {
 public:
  DealtRowsStep(CudaBackend& backend, const DecoderWeights& weights, std::unique_ptr<OnlyOne> only)
      : only_(std::move(only)), backend_(backend) {
    constexpr int C = Shape::kWidth, F = Shape::kHidden;
    const auto layers = static_cast<std::int64_t>(weights.layers.size());
    packed_ = make_tensor(backend, {layers * Shape::kLayerBytes}, DType::u8);
    for (std::int64_t i = 0; i < layers; ++i)
      pack(weights.layers[static_cast<std::size_t>(i)], pointer<std::uint8_t>(packed_) + i * Shape::kLayerBytes);

    constexpr std::int64_t kRows = kDealtMostRows, kCounters = 256;
    constexpr std::int64_t kBytes =
        kCounters + 2 * C * 4 + kRows * (2 * C * 4 + 2 * Shape::kClusters * 8 + C * 2 + F * 2);
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
    params_.stream = reinterpret_cast<float*>(take(2 * kRows * C * 4));
    params_.moments = reinterpret_cast<float*>(take(2 * kRows * Shape::kClusters * 8));
    params_.mixed = reinterpret_cast<std::uint16_t*>(take(kRows * C * 2));
    params_.hidden = reinterpret_cast<std::uint16_t*>(take(kRows * F * 2));
    launch_check("causal_step");
  }

  void run(const Input& in, const Tensor& states) override {
    const auto rows = static_cast<int>(in.x.rows());
    check(rows <= kDealtMostRows, "causal_step: {} rows, and the kernel takes {}", rows, kDealtMostRows);
    DealtRowsParams p = params_;
    for (std::size_t i = 0; i < in.caches.size(); ++i) p.caches[i] = pointer<std::uint16_t>(in.caches[i]);
    p.capacity = in.capacity, p.rows = rows;
    p.lengths = pointer<std::int32_t>(in.lengths), p.slots = pointer<std::int32_t>(in.slots);
    p.x = pointer<std::uint16_t>(in.x), p.states = pointer<std::uint16_t>(states);
    // A layer's caches and the next one's weights fit into the L2 cache beside each other.
    constexpr int kAheadBytes = 24 << 20, kMostAhead = 256;
    p.keys_ahead = std::min(kMostAhead, kAheadBytes / (rows * 2 * Shape::kWidth * static_cast<int>(sizeof(bf16))));
    launch_early(true, kernel_for(rows), Shape::kBlocks, kDealtThreads, backend_.stream(), p, kDealtRanks,
                 sizeof(typename Shape::Shared));
    launch_check("causal_step");
  }
  void set_stamps(const StampParams& stamps) { params_.stamps = stamps; }

  // Whether all blocks can run at once, as they must.
  static bool fits() {
    for (const int rows : {8, 16, 32, 64}) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3(Shape::kBlocks), config.blockDim = dim3(kDealtThreads);
      config.dynamicSmemBytes = sizeof(typename Shape::Shared);
      cudaLaunchAttribute cluster = {};
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim.x = kDealtRanks, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
      config.attrs = &cluster, config.numAttrs = 1;
      int clusters = 0;
      if (cudaFuncSetAttribute(kernel_for(rows), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               sizeof(typename Shape::Shared)) != cudaSuccess ||
          cudaOccupancyMaxActiveClusters(&clusters, kernel_for(rows), &config) != cudaSuccess) {
        cudaGetLastError();
        return false;
      }
      if (clusters < Shape::kClusters) return false;
    }
    return true;
  }

 private:
  static_assert(sizeof(typename Shape::Shared) <= kSharedOfBlock);
  using Kernel = void (*)(DealtRowsParams);
  static Kernel kernel_for(int rows) {
    if (rows <= 8) return kernel<1>();
    if (rows <= 16) return kernel<2>();
    return rows <= 32 ? kernel<4>() : kernel<8>();
  }
  template <int Tiles>
  static Kernel kernel() {
    return dealt_rows_step<Shape, Tiles, DealtTunedFor<Tuning, Tiles>, Stamps>;
  }

  void pack(const DecoderLayer& w, std::uint8_t* to) {
    const auto one = [&](auto product, const Tensor& matrix, const Tensor& bias, const Tensor& norm_weight,
                         const Tensor& norm_bias, std::int64_t at, int bytes) {
      pack_dealt_product<decltype(product)>
          <<<Shape::kBlocks, 256, 0, backend_.stream()>>>({.matrix = pointer<bf16>(matrix),
                                                           .bias = pointer<bf16>(bias),
                                                           .norm_weight = pointer<bf16>(norm_weight),
                                                           .norm_bias = pointer<bf16>(norm_bias),
                                                           .packed = to + at},
                                                          bytes);
    };
    one(typename Shape::Input{}, w.input_weight, w.input_bias, w.norm1_weight, w.norm1_bias, Shape::kInputAt,
        Shape::kInputBytes);
    one(typename Shape::Output{}, w.output_weight, w.output_bias, {}, {}, Shape::kOutputAt, Shape::kOutputBytes);
    one(typename Shape::Expand{}, w.expand_weight, w.expand_bias, w.norm2_weight, w.norm2_bias, Shape::kExpandAt,
        Shape::kExpandBytes);
    one(typename Shape::Contract{}, w.contract_weight, w.contract_bias, {}, {}, Shape::kContractAt,
        Shape::kContractBytes);
  }

  std::unique_ptr<OnlyOne> only_;
  CudaBackend& backend_;
  Tensor packed_, memory_;
  DealtRowsParams params_;
};

}  // namespace attend::cuda
