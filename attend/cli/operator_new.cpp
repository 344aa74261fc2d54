// operator new of the program and of tests about memory: an error that says how much was asked for. Not part of the
// library, whose users have their own.
#include <cstdlib>
#include <new>

#include "attend/base/memory.h"

namespace {

void* allocate(std::size_t bytes) {
  if (void* memory = attend::memory::allowed(bytes) ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr) return memory;
  throw attend::OutOfMemory(bytes);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
// std::stable_sort asks for memory so, and gives it back by the operators below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept { return operator new(bytes, tag); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
