// One pool of worker threads, made once; nothing else in the library starts compute threads.
// Work is cut into pieces by its size alone, never by the number of threads, so results do not depend on it.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace attend {

class ThreadPool {
 public:
  // threads counts the caller: 1 starts no worker. 0 takes the cores this process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // body(i) for every i in [0, count), in any order, on the caller and the workers; returns when all are done.
  // The first exception a body throws is rethrown here. Not reentrant: a body must not call it again.
  template <class Body>
  void for_each(std::int64_t count, Body&& body) {
    using Function = std::remove_reference_t<Body>;
    run(
        count, [](void* f, std::int64_t i) { (*static_cast<Function*>(f))(i); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

  // body(begin, end) over [0, count) in pieces of at most grain.
  template <class Body>
  void for_range(std::int64_t count, std::int64_t grain, Body&& body) {
    if (grain < 1) grain = 1;
    if (count <= grain) {
      if (count > 0) body(std::int64_t{0}, count);
      return;
    }
    for_each((count + grain - 1) / grain, [&](std::int64_t piece) {
      const std::int64_t begin = piece * grain;
      body(begin, begin + grain < count ? begin + grain : count);
    });
  }

 private:
  using Call = void (*)(void*, std::int64_t);
  void run(std::int64_t count, Call call, void* body);

  struct Shared;
  std::unique_ptr<Shared> shared_;
  int threads_ = 1;
};

// The cores this process may run on (its affinity mask), at least 1.
int available_cores();

}  // namespace attend
