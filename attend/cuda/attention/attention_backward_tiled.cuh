// The kernels of attention_backward.cu and their launch, for one configuration. Each is compiled in a file of its own
// (attention_backward_<width>.cu), so that they compile side by side.
#pragma once

#include "attend/cuda/attention/attention_backward_block.cuh"

namespace attend::cuda {

template <class Config, bool kExtras, bool kWindow>
__global__ void __launch_bounds__(Config::kThreads, 1)
    attention_backward(const __grid_constant__ BackwardKernelParams a) {
  if constexpr (Config::kWhereLaunched) {
    extern __shared__ unsigned char raw_shared[];
    BackwardBlock<Config, kExtras, kWindow>(a, raw_shared + ((1024 - (shared_address(raw_shared) & 1023)) & 1023))
        .run();
  }
}

// dq = the parts' sums, in order. One block for each query tile of a head, with the threads of the kernel above.
template <class Config>
__global__ void __launch_bounds__(Config::kThreads) add_parts(const __grid_constant__ BackwardKernelParams a) {
  const int tiles = ceil_div(a.p.queries, Config::kQueries);
  const int head = blockIdx.x / tiles, m = blockIdx.x % tiles;
  const AttentionSpan span = span_of(a.p, head / a.p.heads);
  if (m * Config::kQueries >= span.queries) return;
  const Window window = window_of(a.p, span);
  float sum[Config::kQueryColumns / 8][4];
  clear(sum);
  for (int part = 0; part < a.parts && (a.p.windowed || part * Config::kKeys < span.keys); ++part) {
    if (a.p.windowed ? !part_has<Config>(a, window, span.queries, part, m)
                     : first_tile<Config>(span, a.parts, part) > m)
      continue;
    float x[Config::kQueryColumns / 8][4];
    load_sums(x, query_sums<Config>(a, part, head, m));
#pragma unroll
    for (int j = 0; j < Config::kQueryColumns / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[j][e] += x[j][e];
  }
  store_queries<Config>(sum, a, span, head % a.p.heads, m);
}

inline bool has_extras(const AttentionParams& p) { return p.bias || p.dropout_rate > 0; }

template <class Config, bool kExtras, bool kWindow>
void launch_backward_kernel(const BackwardKernelParams& a, cudaStream_t stream) {
  const auto kernel = attention_backward<Config, kExtras, kWindow>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Config::kSharedBytes);
  kernel<<<a.p.batch * a.p.heads * a.parts, Config::kThreads, Config::kSharedBytes, stream>>>(a);
}

// A window has a kernel of its own with extras only: without them it goes to attention_backward_keys.cu where it can.
template <class Config>
void launch_backward_config(const BackwardKernelParams& a, cudaStream_t stream) {
  if (a.p.windowed)
    launch_backward_kernel<Config, true, true>(a, stream);
  else if (has_extras(a.p))
    launch_backward_kernel<Config, true, false>(a, stream);
  else
    launch_backward_kernel<Config, false, false>(a, stream);
  if ((a.parts > 1 || (a.p.windowed && Config::kChunk == 0)) && a.g.dq.data)
    add_parts<Config>
        <<<ceil_div(a.p.queries, Config::kQueries) * a.p.batch * a.p.heads, Config::kThreads, 0, stream>>>(a);
}

// Shared memory: 227 KB with warpgroups, 163 KB without.
using Backward32 = BackwardConfig<WarpProducts, 32, 64, 128, 8>;
using Backward64 = BackwardConfig<GroupProducts, 64, 64, 128, 8>;
using Backward64Warp = BackwardConfig<WarpProducts, 64, 64, 128, 4>;  // for GPUs without warpgroups
using Backward128 = BackwardConfig<WarpProducts, 128, 32, 128, 0>;
using Backward256 = BackwardConfig<WarpProducts, 256, 32, 64, 0>;

extern template void launch_backward_config<Backward32>(const BackwardKernelParams&, cudaStream_t);
extern template void launch_backward_config<Backward64>(const BackwardKernelParams&, cudaStream_t);
extern template void launch_backward_config<Backward64Warp>(const BackwardKernelParams&, cudaStream_t);
extern template void launch_backward_config<Backward128>(const BackwardKernelParams&, cudaStream_t);
extern template void launch_backward_config<Backward256>(const BackwardKernelParams&, cudaStream_t);

}  // namespace attend::cuda
