// Workers spin briefly for the next job, then sleep; a job hands out its indices from one atomic counter.
#include "attend/base/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace attend {

namespace {

// About 20 µs of polling: longer than the gap between two ops of a model, shorter than anyone notices.
constexpr int kSpins = 4000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct ThreadPool::Shared {
  // The job. Written by the caller while no worker is inside (active == 0), published by generation.
  Call call = nullptr;
  void* body = nullptr;
  std::int64_t count = 0;
  std::exception_ptr error;
  std::mutex error_mutex;

  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<std::uint64_t> generation{0};
  alignas(64) std::atomic<int> active{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::thread> workers;

  void work() {
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        call(body, i);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  }

  void worker() {
    std::uint64_t seen = 0;
    while (true) {
      for (int spin = 0; spin < kSpins && generation.load(std::memory_order_acquire) == seen; ++spin) relax();
      if (generation.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        sleepers.fetch_add(1);
        wake.wait(lock, [&] { return generation.load() != seen; });
        sleepers.fetch_sub(1);
      }
      seen = generation.load(std::memory_order_acquire);
      if (stop.load()) return;
      work();
      active.fetch_sub(1, std::memory_order_release);
    }
  }
};

ThreadPool::ThreadPool(int threads) : shared_(std::make_unique<Shared>()) {
  threads_ = threads > 0 ? threads : available_cores();
  for (int i = 1; i < threads_; ++i) shared_->workers.emplace_back([this] { shared_->worker(); });
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true);
  {
    std::lock_guard lock(shared_->mutex);
    shared_->generation.fetch_add(1);
  }
  shared_->wake.notify_all();
  for (auto& worker : shared_->workers) worker.join();
}

void ThreadPool::run(std::int64_t count, Call call, void* body) {
  if (count <= 0) return;
  if (threads_ == 1 || count == 1) {
    for (std::int64_t i = 0; i < count; ++i) call(body, i);
    return;
  }
  Shared& job = *shared_;
  job.call = call, job.body = body, job.count = count;
  job.next.store(0, std::memory_order_relaxed);
  job.active.store(threads_ - 1, std::memory_order_relaxed);
  job.generation.fetch_add(1);
  if (job.sleepers.load() > 0) {
    std::lock_guard lock(job.mutex);
    job.wake.notify_all();
  }
  job.work();
  // Every worker passes through every job, so a worker never sees a half-written next one.
  for (int spin = 0; job.active.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpins)
      relax();
    else
      std::this_thread::yield();
  }
  if (job.error) std::rethrow_exception(std::exchange(job.error, nullptr));
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int>(cores) : 1;
}

}  // namespace attend
