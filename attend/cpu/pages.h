// Memory of the CPU. Freed with std::free.
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "attend/base/memory.h"

namespace attend::cpu {

// Aligned to 64 bytes; from 2 MB on to huge pages, which the kernel is asked for: a walk through a large tensor, or
// along packed panels, misses the TLB on every 4 KB otherwise. Null where there is not as much.
inline std::byte* allocate_pages(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t unit = bytes >= kHugePage ? kHugePage : 64;
  const std::size_t rounded = bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
  void* memory = rounded >= bytes && memory::allowed(rounded) ? std::aligned_alloc(unit, rounded) : nullptr;
#if defined(MADV_HUGEPAGE)
  if (memory != nullptr && unit == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(memory);
}

}  // namespace attend::cpu
