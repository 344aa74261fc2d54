// Ctrl-C as a question, and what it is again when nobody asks.
#include "attend/base/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>

namespace attend::test {
namespace {

volatile std::sig_atomic_t heard = 0;
extern "C" void hear(int) { heard = heard + 1; }

TEST(InterruptGuard, GivesBackTheHandlersItFound) {
  const auto before = std::signal(SIGINT, hear);
  {
    const InterruptGuard guard;
    EXPECT_FALSE(guard.requested());
    std::raise(SIGINT);
    EXPECT_EQ(guard.signal(), SIGINT);
    EXPECT_EQ(heard, 0);
  }
  std::raise(SIGINT);
  EXPECT_EQ(heard, 1);
  std::signal(SIGINT, before);
}

// Trainings of two threads: whichever ends first, and a signal is for both.
TEST(InterruptGuard, OfSeveralThreadsTheLastGivesBack) {
  heard = 0;
  const auto before = std::signal(SIGINT, hear);
  auto first = std::make_unique<const InterruptGuard>(), second = std::make_unique<const InterruptGuard>();
  first.reset();
  std::raise(SIGINT);
  EXPECT_TRUE(second->requested());
  EXPECT_EQ(heard, 0);
  second.reset();
  std::raise(SIGINT);
  EXPECT_EQ(heard, 1);
  std::signal(SIGINT, before);
}

}  // namespace
}  // namespace attend::test
