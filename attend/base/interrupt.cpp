#include "attend/base/interrupt.h"

#include <csignal>

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
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int InterruptGuard::signal() const { return arrived; }

}  // namespace attend
