#include "attend/world/comm_thread.h"

#include <chrono>
#include <utility>

#include "attend/base/thread.h"

namespace attend::world {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

CommThread::~CommThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CommThread::post(std::function<void(World&)> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (!thread_.joinable()) thread_ = start_thread("messages", [this] { run(); });
  changed_.notify_all();
}

void CommThread::wait() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty(); });
  waited_ += seconds_since(start);
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
}

// A job stays in the queue while it is done, so that an empty queue says that nothing is on its way.
void CommThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void(World&)> job = jobs_.front();
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    std::exception_ptr failed;
    try {
      job(world_);
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    busy_ += seconds_since(start);
    if (failed) jobs_.clear(), failed_ = failed;  // what follows would wait for those who gave up
    if (!jobs_.empty()) jobs_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace attend::world
