// Softmax over the last axis, and its backward pass. A warp takes a row of up to 1,024 entries, else a block.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/block.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kBlock = 256;
constexpr std::int64_t kWarpWidth = 1024;

// blockDim = (Threads, rows per block).
template <class T, int Threads>
__global__ void softmax_kernel(const T* x, const std::int32_t* lengths, std::int64_t rows_per_length, T* y,
                               std::int64_t rows, std::int64_t width) {
  __shared__ ExpSum shared[kWarp];
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.y) + threadIdx.y;
  if (row >= rows) return;
  x += row * width, y += row * width;
  std::int64_t visible = width;
  if (lengths) visible = max(std::int64_t{0}, min(width, std::int64_t{lengths[row / rows_per_length]}));
  ExpSum state;
  for (std::int64_t c = threadIdx.x; c < visible; c += Threads) state = merge(state, {to_float(x[c]), 1.0f});
  state = block_merge<Threads>(state, shared);
  const float scale = state.sum == 0 ? 0.0f : 1.0f / state.sum;  // a NaN goes on
  for (std::int64_t c = threadIdx.x; c < width; c += Threads)
    y[c] = from_float<T>(c < visible ? __expf(to_float(x[c]) - state.max) * scale : 0.0f);
}

template <class T, int Threads>
__global__ void softmax_backward_kernel(const T* dy, const T* y, T* dx, std::int64_t rows, std::int64_t width,
                                        bool accumulate) {
  __shared__ float shared[kWarp];
  const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.y) + threadIdx.y;
  if (row >= rows) return;
  dy += row * width, y += row * width, dx += row * width;
  float product = 0;
  for (std::int64_t c = threadIdx.x; c < width; c += Threads) product += to_float(dy[c]) * to_float(y[c]);
  product = block_sum<Threads>(product, shared);
  for (std::int64_t c = threadIdx.x; c < width; c += Threads) {
    const float d = to_float(y[c]) * (to_float(dy[c]) - product);
    dx[c] = from_float<T>(accumulate ? to_float(dx[c]) + d : d);
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::softmax(const Tensor& x, const Tensor& lengths, const Tensor& y) {
  using namespace cuda;
  if (x.size() == 0) return;
  const std::int64_t rows = x.rows(), width = x.width();
  const std::int64_t rows_per_length = lengths.defined() ? std::max<std::int64_t>(rows / lengths.size(), 1) : 1;
  with_float(x.dtype(), "softmax", [&](auto type) {
    using T = typename decltype(type)::type;
    const auto* visible = pointer<std::int32_t>(lengths);
    if (width <= kWarpWidth)
      softmax_kernel<T, kWarp><<<blocks_for(rows, 8), dim3(kWarp, 8), 0, stream()>>>(
          pointer<T>(x), visible, rows_per_length, pointer<T>(y), rows, width);
    else
      softmax_kernel<T, kBlock><<<blocks_for(rows, 1), kBlock, 0, stream()>>>(pointer<T>(x), visible, rows_per_length,
                                                                              pointer<T>(y), rows, width);
  });
  launch_check("softmax");
}

void CudaBackend::softmax_backward(const Tensor& dy, const Tensor& y, const Grad& dx) {
  using namespace cuda;
  if (dy.size() == 0 || !dx) return;
  const std::int64_t rows = dy.rows(), width = dy.width();
  with_float(dy.dtype(), "softmax_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    if (width <= kWarpWidth)
      softmax_backward_kernel<T, kWarp><<<blocks_for(rows, 8), dim3(kWarp, 8), 0, stream()>>>(
          pointer<T>(dy), pointer<T>(y), pointer<T>(dx.into), rows, width, dx.accumulate);
    else
      softmax_backward_kernel<T, kBlock><<<blocks_for(rows, 1), kBlock, 0, stream()>>>(
          pointer<T>(dy), pointer<T>(y), pointer<T>(dx.into), rows, width, dx.accumulate);
  });
  launch_check("softmax_backward");
}

}  // namespace attend
