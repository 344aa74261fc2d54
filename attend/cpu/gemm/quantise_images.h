// Images as int8, symmetric, with one scale for each image: a place is read by many windows, and by all with the same
// scale.
#pragma once

#include "attend/base/thread_pool.h"
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/windows.h"

namespace attend::cpu::detail {

struct QuantisedImages {
  Windows windows;                // over the quantised images
  const float* scales = nullptr;  // [m], the scale of the image that each row reads
};

// from: windows of all channels, m of them. pad: with what is outside of the images, so that all windows are inside and
// whole lines of them can be read where they lie. Valid until this thread's next call.
QuantisedImages quantise_images(const Kernel& kernel, const Windows& from, std::int64_t m, bool pad, ThreadPool& pool);

}  // namespace attend::cpu::detail
