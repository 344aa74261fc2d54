#include "attend/base/interrupt.h"

#include <array>
#include <atomic>
#include <mutex>

namespace attend {

namespace {

std::atomic<int> arrived{0};  // lock-free, so that a handler may write it
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_interrupt(int signal) {
  arrived = signal;
  std::signal(signal, SIG_DFL);  // the next one is not ours
}

// Guards of several threads, or one in another: the first takes the signals, the last gives them back. If each gave
// back what it found, one that ends before an older one would leave the handler behind.
struct Taken {
  std::mutex mutex;
  int guards = 0;
  std::array<struct sigaction, 2> before = {};  // of SIGINT and SIGTERM
};
Taken taken;

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(taken.mutex);
  if (taken.guards++ > 0) return;
  arrived = 0;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &taken.before[0]);
  sigaction(SIGTERM, &action, &taken.before[1]);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(taken.mutex);
  if (--taken.guards > 0) return;
  sigaction(SIGINT, &taken.before[0], nullptr);
  sigaction(SIGTERM, &taken.before[1], nullptr);
}

int InterruptGuard::signal() const { return arrived; }

}  // namespace attend
