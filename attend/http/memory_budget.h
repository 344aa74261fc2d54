// Bytes that requests may occupy, for all connections of a server together. Whatever a client can make the server keep
// is charged here before it is allocated: what it sends, what that is decoded to, what is computed for it, and the
// answer it has not taken yet. A request that would pass the limit is answered with 503.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string_view>

namespace attend::http {

class MemoryBudget {
 public:
  void set_limit(std::size_t bytes) { limit_ = bytes; }
  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_; }

  // False when it would pass the limit; then nothing is taken.
  bool take(std::size_t bytes) noexcept {
    std::size_t before = used_;
    do {
      if (bytes > limit_ || before > limit_ - bytes) return false;
    } while (!used_.compare_exchange_weak(before, before + bytes));
    return true;
  }
  // For what is there already: it counts, whatever the limit.
  void note(std::size_t bytes) noexcept { used_ += bytes; }
  void give_back(std::size_t bytes) noexcept { used_ -= bytes; }

 private:
  std::size_t limit_ = 0;
  std::atomic<std::size_t> used_{0};
};

// What one connection has taken of it; given back at its end. Any thread.
class MemoryCharge {
 public:
  explicit MemoryCharge(MemoryBudget& budget) : budget_(budget) {}
  ~MemoryCharge() { budget_.give_back(held_); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // So much a connection always has: a small request is answered, too, when others have spent the budget.
  static constexpr std::size_t kAlways = 16 << 10;

  bool add(std::size_t bytes) noexcept {
    if (bytes <= kAlways && held_ <= kAlways - bytes) {
      note(bytes);
      return true;
    }
    if (!budget_.take(bytes)) return false;
    held_ += bytes;
    return true;
  }
  void note(std::size_t bytes) noexcept {
    budget_.note(bytes);
    held_ += bytes;
  }
  // At most what is held.
  void remove(std::size_t bytes) noexcept {
    std::size_t before = held_, less;
    do less = std::min(bytes, before);
    while (!held_.compare_exchange_weak(before, before - less));
    budget_.give_back(less);
  }
  // From now on it is this much.
  void set(std::size_t bytes) noexcept {
    budget_.note(bytes);
    budget_.give_back(held_.exchange(bytes));
  }

 private:
  MemoryBudget& budget_;
  std::atomic<std::size_t> held_{0};
};

// A quarter of the memory of the machine, of the cgroup or of `ulimit -v`, whichever is least.
std::size_t default_memory_budget();

// At most so much a body becomes when it is read as JSON or as a form. A value costs up to 128 bytes while its list
// grows, as short as it may be written, and every value has one of ",:[{&" before or behind it; text is copied.
std::size_t decoded_size(std::string_view body);

}  // namespace attend::http
