#include "attend/base/interrupt.h"

#include <csignal>

namespace attend {

namespace {

volatile std::sig_atomic_t requested_flag = 0;

extern "C" void note_interrupt(int signal) {
  requested_flag = 1;
  std::signal(signal, SIG_DFL);  // the next one is not ours
}

}  // namespace

InterruptGuard::InterruptGuard() {
  requested_flag = 0;
  std::signal(SIGINT, note_interrupt);
  std::signal(SIGTERM, note_interrupt);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::requested() const { return requested_flag != 0; }

}  // namespace attend
