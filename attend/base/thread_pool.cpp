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
#include <system_error>
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
// Stages are numbered through all jobs, and done in this order: `over` is how many are.
struct ThreadPool::Shared {
  explicit Shared(int threads) : threads(threads), shares(static_cast<std::size_t>(threads)) {}

  // Up to so many tasks of a share are told apart; beyond that some go together, as one unit.
  static constexpr int kUnitBits = 16;
  static constexpr std::int64_t kMostUnits = (std::int64_t{1} << kUnitBits) - 1;
  // Stages that a job carries itself; more are read where they are.
  static constexpr int kMostCarried = 3;

  struct alignas(64) Share {
    // The number of the stage it was last taken from, and how many of its units have been taken then. In a later stage
    // it is whole.
    std::atomic<std::uint64_t> taken{0};
    std::atomic<const Stage*> inside{nullptr};  // the stages that this thread may be reading where they are
  };
  // What workers read of a job: of one stage, a single line of memory. One that comes late may read it while it is
  // overwritten, by the job four numbers on; then the number has changed before, and it throws away what it read.
  struct alignas(64) Job {
    std::atomic<std::uint64_t> number{0}, first;  // its own, and that of its first stage
    std::atomic<int> count;
    std::atomic<const Stage*> elsewhere;  // the stages, or null: here
    struct Fields {
      std::atomic<std::int64_t> count, shortest, longest;
      std::atomic<void (*)(void*, std::int64_t, std::int64_t)> call;
      std::atomic<void*> body;
    };
    std::array<Fields, kMostCarried> stages;
  };
  // A thread's copy.
  struct Stages {
    std::uint64_t first = 0;
    int count = 0;
    const Stage* elsewhere = nullptr;
    std::array<Stage, kMostCarried> carried;

    const Stage& operator[](int i) const { return elsewhere ? elsewhere[i] : carried[static_cast<std::size_t>(i)]; }
    std::uint64_t end() const { return first + static_cast<std::uint64_t>(count); }
  };

  int threads;  // read by workers once there is a job; by then it is how many there are
  std::vector<Share> shares;
  std::array<Job, 4> jobs;
  std::uint64_t newest = 0, stages_posted = 0;     // the caller's: the number of the last job, and of stages in all
  alignas(64) std::atomic<std::int64_t> units{0};  // done of the stage that all are at
  alignas(64) std::atomic<std::uint64_t> over{0};  // who waits looks here, where little is written
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

  // What this thread gets of somebody's share of a stage: how many units.
  std::int64_t work(int whose, std::uint64_t number, const Stage& stage) {
    const std::int64_t unit = unit_of(stage), units = units_of(stage);
    const Run length{std::max<std::int64_t>(1, stage.shortest / unit), std::max<std::int64_t>(1, stage.longest / unit)};
    const std::int64_t first = whose * units / threads, size = (whose + 1) * units / threads - first;
    Share& share = shares[static_cast<std::size_t>(whose)];
    std::int64_t mine = 0;
    for (Run run; (run = take(share, number, size, length)).end > 0; mine += run.end - run.begin)
      call(stage, (first + run.begin) * unit, std::min((first + run.end) * unit, stage.count));
    return mine;
  }

  // Says that so many units of stage i are done. True when that was the last of it; then single tasks that come next
  // are done too, before anybody is told.
  bool finish(std::int64_t mine, const Stages& stages, int i) {
    if (mine == 0 || units.fetch_add(mine, std::memory_order_acq_rel) + mine < units_of(stages[i])) return false;
    for (++i; i < stages.count && stages[i].count == 1; ++i) call(stages[i], 0, 1);
    units.store(0, std::memory_order_relaxed);
    const std::uint64_t done = stages.first + static_cast<std::uint64_t>(i);
    over.store(done);
    if (done == stages.end() && joining.load()) {
      std::lock_guard lock(mutex);
      finished.notify_one();
    }
    return true;
  }

  void work(int thread, const Stages& stages) {
    for (std::uint64_t at = stages.first; at < stages.end(); ++at) {
      std::uint64_t done = over.load(std::memory_order_acquire);
      if (done < at) wait_until(Wait::forever, [&] { return (done = over.load(std::memory_order_acquire)) >= at; });
      at = done;  // a worker that comes late finds most of it, or all, done
      if (at >= stages.end()) return;
      const int i = static_cast<int>(at - stages.first);
      // Its own share first. The last to be done with theirs look at nobody else's.
      if (finish(work(thread, at, stages[i]), stages, i)) continue;
      std::int64_t others = 0;
      for (int next = 1; next < threads; ++next) others += work((thread + next) % threads, at, stages[i]);
      finish(others, stages, i);
    }
  }

  // A job as it stands in memory; what it was, if its number is still the same.
  static Stages read(const Job& job) {
    Stages copy;
    copy.first = job.first.load(std::memory_order_acquire);
    copy.count = job.count.load(std::memory_order_acquire);
    copy.elsewhere = job.elsewhere.load(std::memory_order_acquire);
    for (int i = 0; copy.elsewhere == nullptr && i < std::min(copy.count, kMostCarried); ++i) {
      const Job::Fields& stage = job.stages[static_cast<std::size_t>(i)];
      copy.carried[static_cast<std::size_t>(i)] = {
          stage.count.load(std::memory_order_acquire), stage.shortest.load(std::memory_order_acquire),
          stage.longest.load(std::memory_order_acquire), stage.call.load(std::memory_order_acquire),
          stage.body.load(std::memory_order_acquire)};
    }
    return copy;
  }

  // One job after another. Those that are over have nothing left to take.
  void worker(int thread) {
    std::uint64_t seen = 0;
    std::atomic<const Stage*>& inside = shares[static_cast<std::size_t>(thread)].inside;
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
      Stages stages = read(next);
      const bool elsewhere = stages.elsewhere != nullptr;
      if (elsewhere) {
        inside.store(stages.elsewhere);  // see forget
        stages.count = next.count.load();
      }
      if (number > seen && next.number.load() == number) {
        seen = number;
        work(thread, stages);
      }
      if (elsewhere) inside.store(nullptr, std::memory_order_release);
    }
  }

  // Makes it the newest job, and wakes as many as it can use.
  void post(Stages& stages) {
    stages.first = stages_posted;
    stages_posted = stages.end();
    const std::uint64_t number = ++newest;
    Job& to = job(number);
    to.number.store(0);  // nobody's, while it is written
    to.first.store(stages.first, std::memory_order_release);
    to.elsewhere.store(stages.elsewhere, std::memory_order_release);
    std::int64_t widest = 0;
    for (int i = 0; i < stages.count; ++i) {
      widest = std::max(widest, stages[i].count);
      if (stages.elsewhere != nullptr) continue;
      const auto& [count, shortest, longest, call, body] = stages[i];
      Job::Fields& fields = to.stages[static_cast<std::size_t>(i)];
      fields.count.store(count, std::memory_order_release);
      fields.shortest.store(shortest, std::memory_order_release);
      fields.longest.store(longest, std::memory_order_release);
      fields.call.store(call, std::memory_order_release);
      fields.body.store(body, std::memory_order_release);
    }
    to.count.store(stages.count, std::memory_order_release);
    to.number.store(number);
    const std::int64_t asleep = sleepers.load();
    if (asleep == 0) return;
    std::lock_guard lock(mutex);
    if (asleep < widest)
      wake.notify_all();
    else
      for (std::int64_t i = 1; i < widest; ++i) wake.notify_one();
  }

  // Until the last stage is done; whoever does its last unit wakes us if we sleep.
  void join(const Stages& stages) {
    const auto all_done = [&] { return over.load() >= stages.end(); };
    if (wait_until(Wait::limited, all_done)) return;
    std::unique_lock lock(mutex);
    joining.store(true);
    finished.wait(lock, all_done);
    joining.store(false);
  }

  void run(Stages& job) {
    failed.store(false, std::memory_order_relaxed);
    post(job);
    work(0, job);
    join(job);
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

  // Nobody reads these stages any more when this returns: a worker says where it is going to read before it looks
  // whether the job is still that one, and here jobs are taken away before we look where the workers are.
  void forget(const Stage* stages) {
    for (Job& job : jobs)
      if (job.elsewhere.load() == stages) job.count.store(0);
    for (const Share& share : shares) wait_until(Wait::forever, [&] { return share.inside.load() != stages; });
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads > 0 ? threads : available_cores()) {
  shared_ = std::make_unique<Shared>(threads_);
  shared_->workers.reserve(static_cast<std::size_t>(threads_ - 1));
  try {
    for (int i = 1; i < threads_; ++i) shared_->workers.emplace_back([pool = shared_.get(), i] { pool->worker(i); });
  } catch (const std::system_error&) {  // no more to be had: those there are do the work, or the caller alone
    threads_ = shared_->threads = 1 + static_cast<int>(shared_->workers.size());
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stop.store(true);
  }
  shared_->wake.notify_all();
  for (auto& worker : shared_->workers) worker.join();
}

void ThreadPool::run(std::span<const Stage> stages) {
  // What comes first and is a single task needs nobody else.
  std::size_t alone = 0;
  while (alone < stages.size() && (threads_ == 1 || stages[alone].count <= 1)) ++alone;
  run_here(stages.first(alone));
  Shared::Stages job;
  for (const Stage& stage : stages.subspan(alone))
    if (stage.count > 0) job.carried.at(static_cast<std::size_t>(job.count++)) = stage;
  if (job.count > 0) shared_->run(job);
}

void ThreadPool::run_here(std::span<const Stage> stages) {
  for (const Stage& stage : stages)
    for (std::int64_t i = 0; i < stage.count; i += stage.longest)
      stage.call(stage.body, i, std::min(stage.count, i + stage.longest));
}

ThreadPool::Program::Program(ThreadPool& pool, std::vector<Stage> stages) : pool_(pool), stages_(std::move(stages)) {
  std::erase_if(stages_, [](const Stage& stage) { return stage.count <= 0; });
  while (alone_ < stages_.size() && (pool.threads_ == 1 || stages_[alone_].count == 1)) ++alone_;
}

ThreadPool::Program::~Program() {
  if (alone_ < stages_.size()) pool_.shared_->forget(stages_.data() + alone_);
}

void ThreadPool::Program::run() {
  run_here(std::span(stages_).first(alone_));
  Shared::Stages job;
  job.count = static_cast<int>(stages_.size() - alone_);
  job.elsewhere = stages_.data() + alone_;
  if (job.count > 0) pool_.shared_->run(job);
}

#if defined(__EMSCRIPTEN__)
int available_cores() { return 1; }  // in a browser: cmake/wasm.cmake says why
#else
int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  const unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int>(cores) : 1;
}
#endif

}  // namespace attend
