// One pool of worker threads, made once; nothing else in the library starts compute threads.
// Work is cut into pieces by its size alone, never by the number of threads, so results do not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace attend {

class ThreadPool {
 public:
  // threads counts the caller: 1 starts no worker. 0 takes the cores this process may use. Where the system gives fewer
  // threads (ulimit -u), the pool has as many as it gives.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // A part of a job: body(i), or body(begin, end) in runs, over [0, count). Refers to the body.
  struct Stage {
    std::int64_t count, shortest, longest;
    void (*call)(void* body, std::int64_t begin, std::int64_t end);
    void* body;
  };
  template <class Body>
  static Stage each(std::int64_t count, Body& body) {
    const auto call = [](void* f, std::int64_t begin, std::int64_t) { (*static_cast<Body*>(f))(begin); };
    return {count, 1, 1, call, const_cast<void*>(static_cast<const void*>(&body))};
  }
  // Runs of up to `longest`, which get shorter as the work runs out, so that nobody waits long for a slow thread; each
  // a multiple of `shortest`, but for what is left at the end of a thread's share.
  template <class Body>
  static Stage runs(std::int64_t count, std::int64_t longest, Body& body, std::int64_t shortest = 1) {
    const auto call = [](void* f, std::int64_t begin, std::int64_t end) { (*static_cast<Body*>(f))(begin, end); };
    if (longest < 1) longest = 1;
    return {count, shortest < longest ? shortest : longest, longest, call,
            const_cast<void*>(static_cast<const void*>(&body))};
  }
  // The same of a method of an object.
  template <auto Method, class Object>
  static Stage runs(std::int64_t count, std::int64_t longest, Object& object, std::int64_t shortest = 1) {
    const auto call = [](void* o, std::int64_t begin, std::int64_t end) {
      (static_cast<Object*>(o)->*Method)(begin, end);
    };
    if (longest < 1) longest = 1;
    return {count, shortest < longest ? shortest : longest, longest, call, &object};
  }

  // Up to three stages, each in any order, on the caller and the workers, but none before the one in front is done;
  // returns when all are. What is waited for is work and not threads: one that comes late, or not at all, holds nobody
  // up. The first exception a body throws is rethrown here. Not reentrant: a body must not call it again.
  void run(std::span<const Stage> stages);
  void run(std::initializer_list<Stage> stages) { run(std::span(stages.begin(), stages.size())); }
  // The same on this thread alone, also inside a body.
  static void run_here(std::span<const Stage> stages);

  // Any number of stages, to be run as one job again and again.
  class Program {
   public:
    // The bodies stay where they are for as long as there is a program.
    Program(ThreadPool& pool, std::vector<Stage> stages);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    void run();

   private:
    ThreadPool& pool_;
    std::vector<Stage> stages_;
    std::size_t alone_ = 0;  // those in front that the caller does by itself
  };

  // body(i) for every i in [0, count).
  template <class Body>
  void for_each(std::int64_t count, Body&& body) {
    run({each(count, body)});
  }

  // body(begin, end) over [0, count) in pieces of at most grain.
  template <class Body>
  void for_range(std::int64_t count, std::int64_t grain, Body&& body) {
    if (grain < 1) grain = 1;
    if (count <= grain) {
      if (count > 0) body(std::int64_t{0}, count);
      return;
    }
    for_each((count + grain - 1) / grain, [&](std::int64_t piece) {
      const std::int64_t begin = piece * grain;
      body(begin, begin + grain < count ? begin + grain : count);
    });
  }

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
  int threads_ = 1;
};

// The cores this process may run on (its affinity mask), at least 1.
int available_cores();

}  // namespace attend
