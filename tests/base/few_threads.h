// A child process that may have only so many threads, as under `ulimit -u`.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace attend::test {

// Whether body() returned true in a child whose user may have no more than `most` processes, threads counted.
// The limit is not for root, so the child is nobody. Where that cannot be, the test is skipped.
template <class Body>
void expect_with_few_threads(unsigned most, const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  constexpr int kSkipped = 77;
  if (child == 0) {
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0 || (geteuid() == 0 && setuid(65534) != 0)) _exit(kSkipped);
    try {
      _exit(body() ? 0 : 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(2);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kSkipped) GTEST_SKIP() << "no user with a limit of processes here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace attend::test
