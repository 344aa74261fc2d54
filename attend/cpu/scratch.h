// Memory that a thread keeps between products and that only grows: a steady state allocates nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "attend/cpu/pages.h"

namespace attend::cpu::detail {

inline std::byte* allocate(std::size_t bytes) {
  std::byte* memory = allocate_pages(bytes);
  if (memory == nullptr) throw OutOfMemory(bytes);
  return memory;
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
