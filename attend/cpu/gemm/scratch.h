// Memory that a thread keeps between products and that only grows: a steady state allocates nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace attend::cpu::detail {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Aligned to 64 bytes; from 2 MB on to huge pages, which the kernel is asked for (a packed panel walk misses the
// TLB on every 4 KB otherwise). Free with std::free.
inline std::byte* allocate(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : 64;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, rounded == 0 ? unit : rounded);
  if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (unit == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(memory);
}

class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::free(memory_); }

  std::byte* get(std::size_t bytes) {
    if (bytes > size_) {
      std::free(memory_);
      memory_ = nullptr, size_ = 0;
      memory_ = allocate(bytes);
      size_ = bytes;
    }
    return memory_;
  }

 private:
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace attend::cpu::detail
