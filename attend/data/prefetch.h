// Makes things ahead of their use, on a thread of its own: a few lie ready while the consumer works. Each comes with
// the position after it, so that what is saved for resuming is where the consumer is, not where the maker is.
//
//   PairBatches batches(corpus, options);
//   Prefetch<HostPairBatch, Position> prefetch(
//       [&]() -> Prefetch<HostPairBatch, Position>::Entry { return {batches.next(), batches.position()}; });
//   auto [batch, after] = prefetch.next();
//
// What `make` uses belongs to the thread as long as the Prefetch lives. Where there are no threads, next() makes them.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "attend/base/thread.h"

namespace attend::data {

template <class Item, class Position>
class Prefetch {
 public:
  struct Entry {
    Item item;
    Position after;
  };

  explicit Prefetch(std::function<Entry()> make, std::size_t depth = 8)
      : make_(std::move(make)),
        depth_(std::max<std::size_t>(depth, 1)),
        thread_(kHasThreads ? start_thread("prefetch", [this] { work(); }) : std::thread()) {}

  // Waits for no more than the item that is being made.
  ~Prefetch() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // In the order they were made. After the last one before make threw, that exception, every time. One consumer.
  Entry next() {
    if (!kHasThreads) return make_();
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !queue_.empty() || error_; });
    if (queue_.empty()) std::rethrow_exception(error_);
    Entry entry = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    room_.notify_one();
    return entry;
  }

 private:
  void work() {
    try {
      while (true) {
        {
          std::unique_lock lock(mutex_);
          room_.wait(lock, [&] { return stop_ || queue_.size() < depth_; });
          if (stop_) return;
        }
        Entry entry = make_();
        {
          const std::lock_guard lock(mutex_);
          queue_.push_back(std::move(entry));
        }
        ready_.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      ready_.notify_one();
    }
  }

  std::function<Entry()> make_;
  std::size_t depth_;
  std::mutex mutex_;
  std::condition_variable ready_, room_;
  std::deque<Entry> queue_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace attend::data
