// A thread that carries messages of a world while the caller computes: jobs are done in the order they were handed in.
// Between post() and wait() the world is the comm_thread's alone.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "attend/world/world.h"

namespace attend::world {

class CommThread {
 public:
  explicit CommThread(World& world) : world_(world) {}
  ~CommThread();
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;

  void post(std::function<void(World&)> job);
  // All is done; throws what a job has thrown.
  void wait();

  double busy() const { return busy_; }      // seconds with messages, since it exists; after wait()
  double waited() const { return waited_; }  // of them, those that wait() has waited

 private:
  void run();

  World& world_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void(World&)>> jobs_;
  std::exception_ptr failed_;
  bool ends_ = false;
  double busy_ = 0, waited_ = 0;
  std::thread thread_;  // from the first job on
};

}  // namespace attend::world
