// Where the system gives no more threads, a pool goes on with those it has, and what needs one says so.
#include "tests/base/few_threads.h"

#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/thread.h"
#include "attend/base/thread_pool.h"

namespace attend::test {
namespace {

bool counts_right(ThreadPool& pool) {
  std::vector<int> visits(1000, 0);
  pool.for_each(1000, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
  return visits == std::vector<int>(1000, 1);
}

TEST(FewThreads, ThePoolIsTheCallerAlone) {
  expect_with_few_threads(1, [] {
    ThreadPool pool(8);
    return pool.threads() == 1 && counts_right(pool);
  });
}

TEST(FewThreads, ThePoolHasAsManyAsThereAre) {
  expect_with_few_threads(3, [] {
    ThreadPool pool(8);
    return pool.threads() <= 3 && counts_right(pool) && counts_right(pool);
  });
}

TEST(FewThreads, AThreadThatCannotBeHadIsAnError) {
  expect_with_few_threads(1, [] {
    try {
      start_thread("watch", [] {}).join();
    } catch (const Error& error) {
      return std::string_view(error.what()).starts_with("watch: cannot start a thread: ");
    }
    return false;
  });
}

}  // namespace
}  // namespace attend::test
