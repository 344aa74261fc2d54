// The one thread that computes for a server, so that cores are never shared out twice. Every model has a queue, and the
// engine takes a piece of work from one of them at a time: from the one with the request that has had the least
// computing time so far ("least attained service"; Nuijens and Wierman 2008, "The Foreground-Background Queue: A
// Survey"). A short request overtakes those that ask for much, however many there are. A fifth of the time goes to all
// queues in turn, so that long requests end, too.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace attend::serve {

// How the next piece of a queue is chosen.
struct Turn {
  bool everybody = false;  // in order of arrival, whatever a request has had
  bool contended = false;  // other queues have work, too: a smaller piece is better
};

// A queue with what works it off. The engine's thread calls all of it.
class Hosted {
 public:
  static constexpr double kNoWork = std::numeric_limits<double>::infinity();

  virtual ~Hosted() = default;
  // The seconds of computing that the least-served request with work here has had; kNoWork if there is none.
  virtual double attained() const = 0;
  // One piece: a batch, or a token of texts under way. False when there was nothing to do. May throw bad_alloc where it
  // has done nothing yet, and nothing else.
  virtual bool step(const Turn& turn) = 0;

  // Requests of one level are served alike: those that had up to 20 ms, up to 40, up to 80, ...
  static int level_of(double attained);
};

class Engine {
 public:
  // batch_wait_us: when work comes after none, wait so long for more before it is begun.
  explicit Engine(std::int64_t batch_wait_us = 0);
  ~Engine();  // what is queued is done first
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void add(std::shared_ptr<Hosted> hosted);
  // Leaves once it has nothing to do.
  void retire(const std::shared_ptr<Hosted>& hosted);
  // There is something to do.
  void wake();

 private:
  void live();
  bool work(std::uint64_t& seen);
  bool step_next(const std::vector<std::shared_ptr<Hosted>>& hosted);

  std::int64_t batch_wait_us_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Hosted>> hosted_, retired_;
  std::uint64_t calls_ = 0;
  double first_seconds_ = 0, shared_seconds_ = 0;  // of late: given to the least served, and to all in turn
  std::size_t next_ = 0;                           // whose turn it is among all
  bool ends_ = false;
  std::thread thread_;  // last
};

}  // namespace attend::serve
