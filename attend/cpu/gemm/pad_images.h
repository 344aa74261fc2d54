// Images with the places outside of them that windows read. Then every window is inside, and panels of windows that lie
// in one line of results are packed from where they lie; at an edge they would be copied row by row, which for 14 x 14
// results is everywhere.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attend/base/thread_pool.h"
#include "attend/cpu/windows.h"

namespace attend::cpu::detail {

// Places along one axis: outside in front of the image, in it, and all together.
struct Axis {
  std::int64_t before = 0, inside = 0, all = 0;
};

struct PaddedImages {
  Axis h, w;
  std::int64_t images = 0;

  PaddedImages(const Windows& of, std::int64_t m)
      : h(along(of.height, of.window.padding.h, of.window.stride.h, of.window.dilation.h, of.results_h, of.kernel_h)),
        w(along(of.width, of.window.padding.w, of.window.stride.w, of.window.dilation.w, of.results_w, of.kernel_w)),
        images(m / (of.results_h * of.results_w)) {}

  std::int64_t lines() const { return images * h.all; }
  // Of these places, the windows `of`.
  Windows windows(Windows of, const std::byte* places) const {
    of.x = places, of.height = h.all, of.width = w.all, of.window.padding = {0, 0};
    return of;
  }

 private:
  static Axis along(std::int64_t size, std::int64_t padding, std::int64_t stride, std::int64_t dilation,
                    std::int64_t results, std::int64_t taps) {
    return {padding, size, std::max(padding + size, (results - 1) * stride + (taps - 1) * dilation + 1)};
  }
};

// f32 or bf16 images, m windows of all their channels, copied with zeros around them where that helps. Valid until this
// thread's next call.
Windows pad_images(const Windows& from, std::int64_t m, ThreadPool& pool);

}  // namespace attend::cpu::detail
