// Workers spin briefly for the next job, then sleep; a job hands out its indices from one atomic counter. A job waits
// only for the workers that joined it: one that comes late (the machine has other work) finds the gate closed and
// leaves the job alone.
#include "attend/base/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace attend {

namespace {

// Polling before sleep: longer than the gap between two ops of a model, shorter than anyone notices. A pause takes from
// 5 to 50 ns, so the clock decides, asked every 16 pauses.
constexpr std::chrono::microseconds kSpin{50};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls until done() or kSpin has passed.
template <class Done>
bool spin_until(const Done& done) {
  if (done()) return true;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

// The gate of a job: its generation, whether it is closed, and how many workers are inside.
using Gate = std::uint64_t;
constexpr Gate kInside = 0xffff, kClosed = kInside + 1, kGeneration = 2 * kClosed;

}  // namespace

struct ThreadPool::Shared {
  // The job. Written by the caller while the gate is closed and nobody is inside.
  Call call = nullptr;
  void* body = nullptr;
  std::int64_t count = 0;
  std::exception_ptr error;
  std::mutex error_mutex;

  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<Gate> gate{kClosed};
  alignas(64) std::atomic<int> sleepers{0};
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

  // Into the job of this generation, unless it is closed already.
  bool enter(Gate generation) {
    Gate now = gate.load(std::memory_order_acquire);
    while (now / kGeneration == generation && (now & kClosed) == 0)
      if (gate.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_acquire)) return true;
    return false;
  }

  void worker() {
    Gate seen = 0;
    const auto called = [&] { return gate.load() / kGeneration != seen; };
    while (true) {
      if (!spin_until(called)) {
        std::unique_lock lock(mutex);
        sleepers.fetch_add(1);
        wake.wait(lock, called);
        sleepers.fetch_sub(1);
      }
      if (stop.load()) return;
      seen = gate.load(std::memory_order_acquire) / kGeneration;
      if (!enter(seen)) continue;
      work();
      gate.fetch_sub(1, std::memory_order_release);
    }
  }

  // Opens the gate for the next generation, and wakes as many as the job can use.
  void open() {
    gate.store((gate.load(std::memory_order_relaxed) / kGeneration + 1) * kGeneration);
    const std::int64_t asleep = sleepers.load();
    if (asleep == 0) return;
    std::lock_guard lock(mutex);
    if (asleep < count)
      wake.notify_all();
    else
      for (std::int64_t i = 1; i < count; ++i) wake.notify_one();
  }

  // Closes it, and waits for those inside.
  void close() {
    gate.fetch_or(kClosed, std::memory_order_acq_rel);
    const auto left = [&] { return (gate.load(std::memory_order_acquire) & kInside) == 0; };
    if (!spin_until(left))
      while (!left()) std::this_thread::yield();
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
    shared_->gate.fetch_add(kGeneration);
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
  job.open();
  job.work();
  job.close();
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
