// Workers wait a while for the next job, then sleep; a stage of a job hands out its indices from one atomic counter. A
// job waits only for the workers that joined it: one that comes late (the machine has other work) finds the gate closed
// and leaves the job alone.
#include "attend/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <array>
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

// Polling: longer than the gap between two ops of a model. Then the core is offered to others, who may be the ones that
// are waited for; and sleep comes late, because waking up takes long on a busy machine (GPT-2's tokens in int8 beside a
// process that takes a core: 1.2 times as fast with 2 ms as without). A pause takes from 5 to 50 ns, so the clock
// decides, asked every 16 pauses.
constexpr std::chrono::microseconds kSpin{20}, kYield{2000};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls until done(), or until kSpin + kYield have passed where the wait has a limit.
enum class Wait : bool { limited, forever };
template <class Done>
bool wait_until(Wait wait, const Done& done) {
  if (done()) return true;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < start + kSpin)
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      relax();
    }
  while (wait == Wait::forever || std::chrono::steady_clock::now() < start + kSpin + kYield) {
    if (done()) return true;
    std::this_thread::yield();
  }
  return done();
}

// The gate of a job: its generation, whether it is closed, and how many workers are inside.
using Gate = std::uint64_t;
constexpr Gate kInside = 0xffff, kClosed = kInside + 1, kGeneration = 2 * kClosed;

}  // namespace

struct ThreadPool::Shared {
  explicit Shared(int threads) : threads(threads) {}

  // The job. Written by the caller while the gate is closed and nobody is inside.
  struct Progress {
    Stage stage;
    alignas(64) std::atomic<std::int64_t> next{0};
    alignas(64) std::atomic<std::int64_t> done{0};
  };
  std::array<Progress, kMostStages> stages;
  int count = 0;
  std::int64_t widest = 0;  // the most tasks of a stage
  std::exception_ptr error;
  std::mutex error_mutex;
  std::atomic<bool> failed{false};

  alignas(64) std::atomic<Gate> gate{kClosed};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false}, joining{false};

  const int threads;
  std::mutex mutex;
  std::condition_variable wake, finished;
  std::vector<std::thread> workers;

  // The next run of a stage: half of what would be this thread's part of the rest.
  struct Run {
    std::int64_t begin, end;
  };
  Run take(Progress& at) const {
    const Stage& stage = at.stage;
    std::int64_t begin = at.next.load(std::memory_order_relaxed), end;
    do {
      if (begin >= stage.count) return {0, 0};
      end = begin + std::clamp<std::int64_t>((stage.count - begin) / (2 * threads), 1, stage.longest);
    } while (!at.next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return {begin, end};
  }

  void work(Progress& at) {
    std::int64_t mine = 0;
    for (Run run; !failed.load(std::memory_order_relaxed) && (run = take(at)).end > 0; mine += run.end - run.begin) {
      try {
        at.stage.call(at.stage.body, run.begin, run.end);
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        failed.store(true);
      }
    }
    if (mine > 0) at.done.fetch_add(mine, std::memory_order_acq_rel);
  }

  void work() {
    for (int i = 0; i < count; ++i) {
      if (i > 0) {
        const Progress& before = stages[static_cast<std::size_t>(i - 1)];
        wait_until(Wait::forever,
                   [&] { return before.done.load(std::memory_order_acquire) == before.stage.count || failed.load(); });
      }
      work(stages[static_cast<std::size_t>(i)]);
    }
  }

  // Into the job of this generation, unless it is closed already.
  bool enter(Gate generation) {
    Gate now = gate.load(std::memory_order_acquire);
    while (now / kGeneration == generation && (now & kClosed) == 0)
      if (gate.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_acquire)) return true;
    return false;
  }

  // Out of it; the last one wakes a caller who went to sleep over it.
  void leave() {
    const Gate now = gate.fetch_sub(1) - 1;
    if ((now & (kInside | kClosed)) != kClosed || !joining.load()) return;
    std::lock_guard lock(mutex);
    finished.notify_one();
  }

  void worker() {
    Gate seen = 0;
    const auto called = [&] { return gate.load() / kGeneration != seen; };
    while (true) {
      if (!wait_until(Wait::limited, called)) {
        std::unique_lock lock(mutex);
        sleepers.fetch_add(1);
        wake.wait(lock, called);
        sleepers.fetch_sub(1);
      }
      if (stop.load()) return;
      seen = gate.load(std::memory_order_acquire) / kGeneration;
      if (!enter(seen)) continue;
      work();
      leave();
    }
  }

  // Opens the gate for the next generation, and wakes as many as the job can use.
  void open() {
    gate.store((gate.load(std::memory_order_relaxed) / kGeneration + 1) * kGeneration);
    const std::int64_t asleep = sleepers.load();
    if (asleep == 0) return;
    std::lock_guard lock(mutex);
    if (asleep < widest)
      wake.notify_all();
    else
      for (std::int64_t i = 1; i < widest; ++i) wake.notify_one();
  }

  // Closes it, and waits for those inside.
  void close() {
    gate.fetch_or(kClosed, std::memory_order_acq_rel);
    const auto left = [&] { return (gate.load() & kInside) == 0; };
    if (wait_until(Wait::limited, left)) return;
    std::unique_lock lock(mutex);
    joining.store(true);
    finished.wait(lock, left);
    joining.store(false);
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : available_cores()) {
  shared_ = std::make_unique<Shared>(threads_);
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

void ThreadPool::run(std::initializer_list<Stage> stages) {
  Shared& job = *shared_;
  job.count = 0, job.widest = 0;
  for (const Stage& stage : stages) {
    if (stage.count <= 0) continue;
    Shared::Progress& at = job.stages[static_cast<std::size_t>(job.count++)];
    at.stage = stage;
    at.next.store(0, std::memory_order_relaxed), at.done.store(0, std::memory_order_relaxed);
    job.widest = std::max(job.widest, stage.count);
  }
  if (threads_ == 1 || job.widest <= 1) return run_here(stages);
  job.failed.store(false, std::memory_order_relaxed);
  job.open();
  job.work();
  job.close();
  if (job.error) std::rethrow_exception(std::exchange(job.error, nullptr));
}

void ThreadPool::run_here(std::initializer_list<Stage> stages) {
  for (const Stage& stage : stages)
    for (std::int64_t i = 0; i < stage.count; i += stage.longest)
      stage.call(stage.body, i, std::min(stage.count, i + stage.longest));
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int>(cores) : 1;
}

}  // namespace attend
