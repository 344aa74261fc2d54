#include "attend/base/memory.h"

#include <atomic>
#include <cstdio>

#include "attend/base/error.h"

namespace attend {

OutOfMemory::OutOfMemory(std::size_t bytes) noexcept : text_{} {
  std::snprintf(text_.data(), text_.size(), "out of memory: %.1f MB were asked for", static_cast<double>(bytes) / 1e6);
}

namespace memory {

namespace {
std::atomic<const Fault*> current{nullptr};
}

FaultInjection::FaultInjection(Fault fault) : fault_(std::move(fault)) {
  const Fault* none = nullptr;
  check(current.compare_exchange_strong(none, &fault_), "memory is refused already");
}

FaultInjection::~FaultInjection() { current.store(nullptr); }

bool allowed(std::size_t bytes) noexcept {
  if (bytes < kLarge) return true;
  const Fault* fault = current.load(std::memory_order_acquire);
  return !fault || (*fault)(bytes);
}

}  // namespace memory

}  // namespace attend
