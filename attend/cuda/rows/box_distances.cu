// L1 distance and GIoU of pairs of boxes, a thread a pair: DETR has some thousand of them.
#include "attend/cuda/launch.cuh"
#include "attend/tensor/boxes.h"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 128;

__global__ void distances_kernel(const float* a, const float* b, float* to, std::int64_t pairs) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= pairs) return;
  to[2 * i] = boxes::l1_distance(a + 4 * i, b + 4 * i);
  to[2 * i + 1] = 1 - boxes::giou(boxes::corners(a + 4 * i), boxes::corners(b + 4 * i));
}

__global__ void backward_kernel(const float* d, const float* a, const float* b, float* to, std::int64_t pairs,
                                bool accumulate) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= pairs) return;
  float slopes[4];
  boxes::distance_slopes(a + 4 * i, b + 4 * i, d[2 * i], d[2 * i + 1], slopes);
  for (int j = 0; j < 4; ++j) to[4 * i + j] = slopes[j] + (accumulate ? to[4 * i + j] : 0.0f);
}

}  // namespace
}  // namespace cuda

void CudaBackend::box_distances(const Tensor& boxes, const Tensor& others, const Tensor& distances) {
  using namespace cuda;
  const std::int64_t pairs = boxes.rows();
  if (pairs == 0) return;
  distances_kernel<<<blocks_for(pairs, kThreads), kThreads, 0, stream()>>>(
      pointer<float>(boxes), pointer<float>(others), pointer<float>(distances), pairs);
  launch_check("box_distances");
}

void CudaBackend::box_distances_backward(const Tensor& ddistances, const Tensor& boxes, const Tensor& others,
                                         const Grad& dboxes) {
  using namespace cuda;
  const std::int64_t pairs = boxes.rows();
  if (pairs == 0 || !dboxes) return;
  backward_kernel<<<blocks_for(pairs, kThreads), kThreads, 0, stream()>>>(
      pointer<float>(ddistances), pointer<float>(boxes), pointer<float>(others), pointer<float>(dboxes.into), pairs,
      dboxes.accumulate);
  launch_check("box_distances_backward");
}

}  // namespace attend
