// L1 distance and GIoU of pairs of boxes, and the way back to the first of each pair.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"
#include "attend/tensor/boxes.h"

namespace attend {

namespace {

constexpr std::int64_t kWork = 64;  // elements of streaming work that a pair is worth

}  // namespace

void CpuBackend::box_distances(const Tensor& boxes, const Tensor& others, const Tensor& distances) {
  const float *a = boxes.data<float>(), *b = others.data<float>();
  float* to = distances.data<float>();
  cpu::for_rows(pool(), boxes.rows(), kWork, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      to[2 * i] = boxes::l1_distance(a + 4 * i, b + 4 * i);
      to[2 * i + 1] = 1 - boxes::giou(boxes::corners(a + 4 * i), boxes::corners(b + 4 * i));
    }
  });
}

void CpuBackend::box_distances_backward(const Tensor& ddistances, const Tensor& boxes, const Tensor& others,
                                        const Grad& dboxes) {
  if (!dboxes) return;
  const float *d = ddistances.data<float>(), *a = boxes.data<float>(), *b = others.data<float>();
  float* to = dboxes.into.data<float>();
  cpu::for_rows(pool(), boxes.rows(), kWork, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float slopes[4];
      boxes::distance_slopes(a + 4 * i, b + 4 * i, d[2 * i], d[2 * i + 1], slopes);
      for (int j = 0; j < 4; ++j) to[4 * i + j] = slopes[j] + (dboxes.accumulate ? to[4 * i + j] : 0.0f);
    }
  });
}

}  // namespace attend
