// Who may prepare a request now. Many threads wait for the model, but what they do before and after (reading texts into
// tokens, cutting, decoding images) takes processors that the model needs. So half as many as there are processors do
// it at once, a piece at a time, in the order in which they came: a request of a thousand texts lets others in between
// any two of them.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>

#include "attend/serve/engine/failure.h"

namespace attend::serve {

class Turns {
 public:
  explicit Turns(std::size_t at_once = std::max(2u, std::thread::hardware_concurrency()) / 2) : free_(at_once) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Waits for its turn, does the piece, and lets the next one in. Throws serving::Cancelled when it is stopped before.
  template <class Piece>
  auto take(const std::stop_token& stop, Piece piece) {
    enter(stop);
    const Leaving leaving{*this};
    return piece();
  }

 private:
  struct Waiting {
    std::condition_variable called;
    bool in = false;
  };
  struct Leaving {
    Turns& turns;
    ~Leaving() { turns.leave(); }
  };

  void enter(const std::stop_token& stop) {
    if (stop.stop_requested()) throw Cancelled();
    Waiting self;
    {
      const std::lock_guard lock(mutex_);
      if (free_ > 0) {
        --free_;
        return;
      }
      waiting_.push_back(&self);
    }
    const std::stop_callback wake(stop, [&] {
      const std::lock_guard lock(mutex_);
      self.called.notify_one();
    });
    std::unique_lock lock(mutex_);
    self.called.wait(lock, [&] { return self.in || stop.stop_requested(); });
    if (self.in) return;
    std::erase(waiting_, &self);
    throw Cancelled();
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    waiting_.front()->in = true;
    waiting_.front()->called.notify_one();
    waiting_.pop_front();
  }

  std::mutex mutex_;
  std::size_t free_;
  std::deque<Waiting*> waiting_;
};

}  // namespace attend::serve
