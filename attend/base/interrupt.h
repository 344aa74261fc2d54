// Ctrl-C as a question a loop can ask: finish the step, keep what was learned, then stop. A second Ctrl-C kills.
#pragma once

#include <csignal>

namespace attend {

// Thrown by a command that was interrupted and has saved what it did: the program ends with 128 + signal, as shells
// expect (130 for Ctrl-C, 143 for SIGTERM).
struct Interrupted {
  int signal;
};

// While one lives, in whichever thread, SIGINT and SIGTERM set a flag instead of ending the process; then they do what
// they did before: in Python, raise.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const { return signal() != 0; }
  int signal() const;  // the one that came; 0: none
};

}  // namespace attend
