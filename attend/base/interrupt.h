// Ctrl-C as a question a loop can ask: finish the step, keep what was learned, then stop. A second Ctrl-C kills.
#pragma once

namespace attend {

// While one lives, SIGINT and SIGTERM set a flag instead of ending the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool requested() const;
};

}  // namespace attend
