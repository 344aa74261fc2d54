#include "attend/serve/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#include "attend/base/thread.h"

namespace attend::serve {

namespace {

constexpr double kSharedPart = 0.2;   // of the time, for all queues in turn
constexpr double kMemorySeconds = 1;  // what was given longer ago does not count

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int Hosted::level_of(double attained) {
  constexpr double kFirst = 0.020;  // seconds
  return attained < kFirst ? 0 : 1 + static_cast<int>(std::min(std::log2(attained / kFirst), 30.0));
}

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

// One piece; whether there was any. seen: the calls up to which it has looked.
bool Engine::work(std::uint64_t& seen) {
  std::vector<std::shared_ptr<Hosted>> now;
  {
    const std::lock_guard lock(mutex_);
    seen = calls_;
    now = hosted_;
  }
  if (step_next(now)) return true;
  bool any = false;  // none said that it has work; one may have got some meanwhile
  const auto begin = std::chrono::steady_clock::now();
  for (const std::shared_ptr<Hosted>& hosted : now) any = hosted->step({}) || any;
  if (any) first_seconds_ += seconds_since(begin);
  return any;
}

bool Engine::step_next(const std::vector<std::shared_ptr<Hosted>>& hosted) {
  std::vector<std::size_t> busy;
  std::size_t least = 0;
  double attained = Hosted::kNoWork;
  for (std::size_t i = 0; i < hosted.size(); ++i) {
    const double own = hosted[i]->attained();
    if (own == Hosted::kNoWork) continue;
    busy.push_back(i);
    if (own < attained) attained = own, least = i;
  }
  if (busy.empty()) return false;
  const bool shared = shared_seconds_ < kSharedPart * (shared_seconds_ + first_seconds_);
  if (shared) {
    const auto after = std::ranges::find_if(busy, [&](std::size_t i) { return i >= next_; });
    least = after == busy.end() ? busy.front() : *after;
    next_ = least + 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  const bool any = hosted[least]->step({.everybody = shared, .contended = busy.size() > 1});
  (shared ? shared_seconds_ : first_seconds_) += seconds_since(begin);
  if (const double sum = shared_seconds_ + first_seconds_; sum > kMemorySeconds)
    shared_seconds_ *= kMemorySeconds / sum, first_seconds_ *= kMemorySeconds / sum;
  return any;
}

}  // namespace attend::serve
