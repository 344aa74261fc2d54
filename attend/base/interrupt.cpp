#include "attend/base/interrupt.h"

namespace attend {

namespace {

volatile std::sig_atomic_t arrived = 0;

extern "C" void note_interrupt(int signal) {
  arrived = signal;
  std::signal(signal, SIG_DFL);  // the next one is not ours
}

}  // namespace

InterruptGuard::InterruptGuard() {
  arrived = 0;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before_[0]);
  sigaction(SIGTERM, &action, &before_[1]);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &before_[0], nullptr);
  sigaction(SIGTERM, &before_[1], nullptr);
}

int InterruptGuard::signal() const { return arrived; }

}  // namespace attend
