// Convolutions of images with few channels, such as the first of a network: the micro-kernel reads the windows where
// they lie, one line of the window after the other, and no panels of them are packed. Only a few lines of the image are
// copied at a time, with the padding around them.
#pragma once

#include "attend/base/thread_pool.h"
#include "attend/cpu/gemm/blocked.h"
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/windows.h"

namespace attend::cpu::detail {

// Elements from a line of the window to the next in a row of weights that multiply_lines reads, or 0: these windows are
// faster packed, or this kernel reads packed panels only.
std::int64_t line_of(const Kernel& kernel, const Windows& windows);

// job: windows of the kernel's element, and b_panels over kernel_h lines of line_of() elements.
void multiply_lines(const Kernel& kernel, const Job& job, ThreadPool& pool);

}  // namespace attend::cpu::detail
