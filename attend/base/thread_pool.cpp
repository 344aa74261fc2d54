// Workers wait a while for the next job, then sleep. A job waits for its work to be done and not for workers: one that
// comes late (the machine has other work) finds nothing left to take.
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

}  // namespace

// A stage is cut into one share a thread, in order, so that a thread finds in its caches what it had the time before. A
// share belongs to whoever comes: its own thread takes run after run from its front, and the others do when they have
// done theirs. In the usual case a thread touches a line of memory of its own, and one that all share when it is done.
struct ThreadPool::Shared {
  explicit Shared(int threads) : threads(threads), shares(static_cast<std::size_t>(threads)) {}

  // Up to so many tasks of a share are told apart; beyond that some go together, as one unit.
  static constexpr int kUnitBits = 16;
  static constexpr std::int64_t kMostUnits = (std::int64_t{1} << kUnitBits) - 1;

  // How far a share is: the number of the stage it was last taken from, and how many of its units have been taken then.
  // In a later stage it is whole.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> taken{0};
  };
  struct alignas(64) Done {
    std::atomic<std::int64_t> units{0};
  };
  // What workers read of a job: of one stage, a single line of memory. One that comes late may read it while it is
  // overwritten, by the job four numbers on; then the number has changed before, and it throws away what it read.
  struct alignas(64) Job {
    std::atomic<std::uint64_t> number{0};
    std::atomic<int> count;
    struct Fields {
      std::atomic<std::int64_t> count, shortest, longest;
      std::atomic<void (*)(void*, std::int64_t, std::int64_t)> call;
      std::atomic<void*> body;
    };
    std::array<Fields, kMostStages> stages;
    std::array<Done, kMostStages> done;
  };
  // A thread's copy.
  struct Stages {
    std::array<Stage, kMostStages> stages;
    int count = 0;
  };

  const int threads;
  std::vector<Share> shares;
  std::array<Job, 4> jobs;
  std::uint64_t newest = 0;  // the caller's: the number of the last job
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false}, joining{false}, failed{false};
  std::exception_ptr error;
  std::mutex error_mutex;

  std::mutex mutex;
  std::condition_variable wake, finished;
  std::vector<std::thread> workers;

  Job& job(std::uint64_t number) { return jobs[number % jobs.size()]; }

  // Tasks that make a unit, and units of a stage.
  std::int64_t unit_of(const Stage& stage) const { return 1 + (stage.count - 1) / threads / kMostUnits; }
  std::int64_t units_of(const Stage& stage) const { return (stage.count - 1) / unit_of(stage) + 1; }

  struct Run {
    std::int64_t begin, end;
  };
  // The next run of a share of `size` units: half of what is left, if it may. Empty when nothing is.
  static Run take(Share& share, std::uint64_t stage, std::int64_t size, const Run& length) {
    const auto& [shortest, longest] = length;
    std::uint64_t word = share.taken.load(std::memory_order_relaxed);
    while (true) {
      const std::uint64_t number = word >> kUnitBits;
      const std::int64_t begin = number == stage ? static_cast<std::int64_t>(word) & kMostUnits : 0;
      if (number > stage || begin >= size) return {0, 0};
      const std::int64_t half = ((size - begin) / 2 + shortest - 1) / shortest * shortest;
      const std::int64_t end = std::min(size, begin + std::clamp(half, shortest, longest));
      const std::uint64_t next = stage << kUnitBits | static_cast<std::uint64_t>(end);
      if (share.taken.compare_exchange_weak(word, next, std::memory_order_relaxed)) return {begin, end};
    }
  }

  void call(const Stage& stage, std::int64_t begin, std::int64_t end) {
    if (failed.load(std::memory_order_relaxed)) return;
    try {
      for (; begin < end; begin += stage.longest) stage.call(stage.body, begin, std::min(end, begin + stage.longest));
    } catch (...) {
      std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      failed.store(true);
    }
  }

  // What this thread gets of a stage, its own share first; how many units that was.
  std::int64_t work(int thread, std::uint64_t number, const Stage& stage) {
    const std::int64_t unit = unit_of(stage), units = units_of(stage);
    const Run length{std::max<std::int64_t>(1, stage.shortest / unit), std::max<std::int64_t>(1, stage.longest / unit)};
    std::int64_t mine = 0;
    for (int i = 0; i < threads; ++i) {
      const int whose = (thread + i) % threads;
      const std::int64_t first = whose * units / threads, size = (whose + 1) * units / threads - first;
      Share& share = shares[static_cast<std::size_t>(whose)];
      for (Run run; (run = take(share, number, size, length)).end > 0; mine += run.end - run.begin)
        call(stage, (first + run.begin) * unit, std::min((first + run.end) * unit, stage.count));
    }
    return mine;
  }

  void work(int thread, std::uint64_t number, const Stages& stages) {
    Job& at = job(number);
    for (int i = 0; i < stages.count; ++i) {
      if (i > 0) {
        const std::atomic<std::int64_t>& before = at.done[static_cast<std::size_t>(i - 1)].units;
        const std::int64_t all = units_of(stages.stages[static_cast<std::size_t>(i - 1)]);
        wait_until(Wait::forever, [&] { return before.load(std::memory_order_acquire) == all || at.number != number; });
      }
      const Stage& stage = stages.stages[static_cast<std::size_t>(i)];
      const std::int64_t mine = work(thread, number * kMostStages + static_cast<std::uint64_t>(i), stage);
      if (mine == 0) continue;
      const bool last = at.done[static_cast<std::size_t>(i)].units.fetch_add(mine) + mine == units_of(stage);
      if (!last || i + 1 < stages.count || !joining.load()) continue;
      std::lock_guard lock(mutex);
      finished.notify_one();
    }
  }

  // A job as it stands in memory; what it was, if its number is still the same.
  static Stages read(const Job& job) {
    Stages copy;
    copy.count = std::min(job.count.load(std::memory_order_acquire), kMostStages);
    for (int i = 0; i < copy.count; ++i) {
      const Job::Fields& stage = job.stages[static_cast<std::size_t>(i)];
      copy.stages[static_cast<std::size_t>(i)] = {
          stage.count.load(std::memory_order_acquire), stage.shortest.load(std::memory_order_acquire),
          stage.longest.load(std::memory_order_acquire), stage.call.load(std::memory_order_acquire),
          stage.body.load(std::memory_order_acquire)};
    }
    return copy;
  }

  // One job after another. Those that are over have nothing left to take.
  void worker(int thread) {
    std::uint64_t seen = 0;
    const auto called = [&] { return job(seen + 1).number.load() > seen || stop.load(std::memory_order_relaxed); };
    while (true) {
      if (!wait_until(Wait::limited, called)) {
        std::unique_lock lock(mutex);
        sleepers.fetch_add(1);
        wake.wait(lock, called);
        sleepers.fetch_sub(1);
      }
      if (stop.load()) return;
      const Job& next = job(seen + 1);
      const std::uint64_t number = next.number.load();
      const Stages stages = read(next);
      if (number <= seen || next.number.load() != number) continue;
      seen = number;
      work(thread, number, stages);
    }
  }

  // Makes it the newest job, and wakes as many as it can use. Returns its number.
  std::uint64_t post(const Stages& stages) {
    const std::uint64_t number = ++newest;
    Job& to = job(number);
    to.number.store(0);  // nobody's, while it is written
    std::int64_t widest = 0;
    for (int i = 0; i < stages.count; ++i) {
      const auto& [count, shortest, longest, call, body] = stages.stages[static_cast<std::size_t>(i)];
      Job::Fields& fields = to.stages[static_cast<std::size_t>(i)];
      fields.count.store(count, std::memory_order_release);
      fields.shortest.store(shortest, std::memory_order_release);
      fields.longest.store(longest, std::memory_order_release);
      fields.call.store(call, std::memory_order_release);
      fields.body.store(body, std::memory_order_release);
      to.done[static_cast<std::size_t>(i)].units.store(0, std::memory_order_release);
      widest = std::max(widest, count);
    }
    to.count.store(stages.count, std::memory_order_release);
    to.number.store(number);
    const std::int64_t asleep = sleepers.load();
    if (asleep == 0) return number;
    std::lock_guard lock(mutex);
    if (asleep < widest)
      wake.notify_all();
    else
      for (std::int64_t i = 1; i < widest; ++i) wake.notify_one();
    return number;
  }

  // Until the last stage is done; whoever does its last unit wakes us if we sleep.
  void join(std::uint64_t number, const Stages& stages) {
    const auto last = static_cast<std::size_t>(stages.count - 1);
    const std::atomic<std::int64_t>& done = job(number).done[last].units;
    const std::int64_t all = units_of(stages.stages[last]);
    const auto all_done = [&] { return done.load() == all; };
    if (wait_until(Wait::limited, all_done)) return;
    std::unique_lock lock(mutex);
    joining.store(true);
    finished.wait(lock, all_done);
    joining.store(false);
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : available_cores()) {
  shared_ = std::make_unique<Shared>(threads_);
  for (int i = 1; i < threads_; ++i) shared_->workers.emplace_back([this, i] { shared_->worker(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stop.store(true);
  }
  shared_->wake.notify_all();
  for (auto& worker : shared_->workers) worker.join();
}

void ThreadPool::run(std::initializer_list<Stage> stages) {
  // What comes first and is a single task needs nobody else.
  const Stage* from = stages.begin();
  while (from != stages.end() && (threads_ == 1 || from->count <= 1)) run_here({*from++});
  Shared::Stages job;
  for (; from != stages.end(); ++from)
    if (from->count > 0) job.stages[static_cast<std::size_t>(job.count++)] = *from;
  if (job.count == 0) return;
  Shared& shared = *shared_;
  shared.failed.store(false, std::memory_order_relaxed);
  const std::uint64_t number = shared.post(job);
  shared.work(0, number, job);
  shared.join(number, job);
  if (shared.error) std::rethrow_exception(std::exchange(shared.error, nullptr));
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
