// Threads that wait for others most of their time: as many as there is work at once, up to a limit, and kept for the
// next. Computing is not theirs (base/thread_pool.h).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace attend::http {

class Workers {
 public:
  explicit Workers(std::size_t most) : most_(most) {}
  ~Workers();  // what was taken is done first
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Soon, by one of them; where the system gives no thread at all, now. work must not throw.
  void add(std::function<void()> work);

 private:
  void live();

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool ends_ = false;
};

}  // namespace attend::http
