#include "attend/serve/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "attend/base/thread.h"

namespace attend::serve {

Engine::Engine(std::int64_t batch_wait_us)
    : batch_wait_us_(batch_wait_us), thread_(start_thread("serve", [this] { live(); })) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    ++calls_;
  }
  wake_.notify_all();
  thread_.join();
}

void Engine::add(std::shared_ptr<Hosted> hosted) {
  const std::lock_guard lock(mutex_);
  hosted_.push_back(std::move(hosted));
}

void Engine::retire(const std::shared_ptr<Hosted>& hosted) {
  const std::lock_guard lock(mutex_);
  retired_.push_back(hosted);
}

void Engine::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  wake_.notify_one();
}

// Where memory is missing, what waits is looked at again soon.
void Engine::live() {
  std::uint64_t seen = 0;
  while (true) {
    bool any = false;
    try {
      any = work(seen);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    if (any) continue;
    std::unique_lock lock(mutex_);
    for (const std::shared_ptr<Hosted>& old : retired_) std::erase(hosted_, old);
    std::vector<std::shared_ptr<Hosted>> leaving = std::move(retired_);
    retired_.clear();
    if (!leaving.empty()) {  // whatever they free is freed without the lock
      lock.unlock();
      leaving.clear();
      lock.lock();
    }
    if (ends_ && seen == calls_) return;
    if (seen != calls_) continue;
    wake_.wait(lock, [&] { return calls_ != seen; });
    if (batch_wait_us_ > 0 && !ends_) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(batch_wait_us_));
    }
  }
}

// A piece of each; whether there was any. seen: the calls up to which it has looked.
bool Engine::work(std::uint64_t& seen) {
  std::vector<std::shared_ptr<Hosted>> now;
  {
    const std::lock_guard lock(mutex_);
    seen = calls_;
    now = hosted_;
  }
  bool any = false;
  for (const std::shared_ptr<Hosted>& hosted : now) any = hosted->step() || any;
  return any;
}

}  // namespace attend::serve
