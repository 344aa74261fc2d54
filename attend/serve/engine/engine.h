// The one thread that computes for a server. Every model has a queue; the engine takes one piece of work from each in
// turn, so that a model with much to do holds up no other by more than a piece, and cores are never shared out twice.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace attend::serve {

// A queue with what works it off.
class Hosted {
 public:
  virtual ~Hosted() = default;
  // One piece: a batch, or a token of every text under way. False when there was nothing to do. May throw bad_alloc
  // where it has done nothing yet, and nothing else.
  virtual bool step() = 0;
};

class Engine {
 public:
  // batch_wait_us: when work comes after none, wait so long for more before it is begun.
  explicit Engine(std::int64_t batch_wait_us = 0);
  ~Engine();  // what is queued is done first
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void add(std::shared_ptr<Hosted> hosted);
  // Leaves once it has nothing to do.
  void retire(const std::shared_ptr<Hosted>& hosted);
  // There is something to do.
  void wake();

 private:
  void live();
  bool work(std::uint64_t& seen);

  std::int64_t batch_wait_us_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Hosted>> hosted_, retired_;
  std::uint64_t calls_ = 0;
  bool ends_ = false;
  std::thread thread_;  // last
};

}  // namespace attend::serve
