// Memory that may not be there. Every large allocation asks here first, so that a test can refuse any one of them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <new>

namespace attend {

// What operator new of the program throws (attend/cli/operator_new.cpp): says how much was asked for.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::size_t bytes) noexcept;
  const char* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 64> text_;
};

namespace memory {

inline constexpr std::size_t kLarge = std::size_t{32} << 10;

// Asked for every allocation of kLarge bytes and more, by any thread: false refuses it. It must not allocate.
using Fault = std::function<bool(std::size_t bytes)>;

// While one lives, its fault is asked. One at a time.
class FaultInjection {
 public:
  explicit FaultInjection(Fault fault);
  ~FaultInjection();
  FaultInjection(const FaultInjection&) = delete;
  FaultInjection& operator=(const FaultInjection&) = delete;

 private:
  Fault fault_;
};

bool allowed(std::size_t bytes) noexcept;

}  // namespace memory

}  // namespace attend
