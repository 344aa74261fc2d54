// The pool: every index once, exceptions come out, many small jobs in a row, and sleepers wake.
#include "attend/base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attend/base/random.h"

namespace attend {
namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 5));

TEST_P(ThreadPoolTest, VisitsEachIndexOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  for (const int count : {0, 1, 2, 3, 17, 1000}) {
    std::vector<int> visits(static_cast<std::size_t>(count), 0);  // plain ints: TSan would see a double visit
    pool.for_each(count, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
    EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(count), 1));
  }
}

TEST_P(ThreadPoolTest, RangesCoverWithoutOverlap) {
  ThreadPool pool(GetParam());
  for (const std::int64_t count : {0, 1, 5, 16, 17, 1000})
    for (const std::int64_t grain : {-1, 0, 1, 3, 16, 5000}) {
      std::vector<int> visits(static_cast<std::size_t>(count), 0);
      pool.for_range(count, grain, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, std::max<std::int64_t>(grain, 1));
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(count), 1)) << count << " by " << grain;
    }
}

// Runs cover, none longer than asked for, and the last ones short.
TEST_P(ThreadPoolTest, RunsGetShorter) {
  ThreadPool pool(GetParam());
  for (const std::int64_t count : {0, 1, 5, 100, 1000})
    for (const std::int64_t longest : {0, 1, 7, 5000}) {
      std::vector<int> visits(static_cast<std::size_t>(count), 0);
      const auto body = [&](std::int64_t begin, std::int64_t end) {
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, std::max<std::int64_t>(longest, 1));
        if (end == count && count >= 100 && pool.threads() > 1) {
          EXPECT_EQ(end - begin, 1);
        }
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      };
      pool.run({ThreadPool::runs(count, longest, body)});
      EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(count), 1)) << count << " by " << longest;
    }
}

// A stage sees all that the stages in front of it wrote: plain ints, so TSan would see one that does not wait.
TEST_P(ThreadPoolTest, StagesFollowEachOther) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 200; ++round) {
    std::vector<int> first(17, 0), third(9, 0);
    int second = 0;
    const auto write = [&](std::int64_t i) { first[static_cast<std::size_t>(i)] = round; };
    const auto sum = [&](std::int64_t) {
      for (const int x : first) second += x;
    };
    const auto copy = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) third[static_cast<std::size_t>(i)] = second;
    };
    pool.run({ThreadPool::each(17, write), ThreadPool::each(1, sum), ThreadPool::runs(9, 3, copy)});
    EXPECT_EQ(third, std::vector<int>(9, 17 * round));
  }
}

// A program is all its stages in order, each time it runs, single tasks in front, between and behind too; others of its
// kind and plain jobs may run in between, and it may go while workers are still on their way to it.
TEST_P(ThreadPoolTest, ProgramsRunAgain) {
  ThreadPool pool(GetParam());
  struct Add {
    std::vector<std::int64_t>* sums;
    std::size_t at;
    void operator()(std::int64_t i) const { (*sums)[at + static_cast<std::size_t>(i)] += (*sums)[at - 1]; }
  };
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int64_t> sums(200, 1);
    std::vector<Add> bodies;
    std::vector<std::int64_t> counts;
    for (std::size_t at = 1; at < sums.size();) {
      const std::size_t count = std::min(sums.size() - at, random_word(2, 0, at) % 3 == 0 ? 7u : std::size_t{1});
      bodies.push_back({&sums, at});
      counts.push_back(static_cast<std::int64_t>(count));
      at += count;
    }
    std::vector<ThreadPool::Stage> stages;
    for (std::size_t i = 0; i < bodies.size(); ++i) stages.push_back(ThreadPool::each(counts[i], bodies[i]));
    ThreadPool::Program program(pool, stages), nothing(pool, {});
    std::vector<std::int64_t> expected(sums.size(), 1);
    for (int run = 0; run < 10; ++run) {
      program.run();
      nothing.run();
      if (run % 3 == 0) pool.for_each(5, [](std::int64_t) {});
      for (std::size_t i = 0; i < bodies.size(); ++i)
        for (std::int64_t j = 0; j < counts[i]; ++j)
          expected[bodies[i].at + static_cast<std::size_t>(j)] += expected[bodies[i].at - 1];
      ASSERT_EQ(sums, expected);
    }
  }
}

TEST_P(ThreadPoolTest, AnErrorEndsTheProgram) {
  ThreadPool pool(GetParam());
  int fail = 0;
  std::atomic<int> later{0};
  const auto fails = [&](std::int64_t i) {
    if (i == fail) throw std::runtime_error("piece");
  };
  const auto counts = [&](std::int64_t) { later.fetch_add(1); };
  ThreadPool::Program program(pool,
                              {ThreadPool::each(20, fails), ThreadPool::each(1, counts), ThreadPool::each(20, counts)});
  for (; fail < 20; ++fail) {
    EXPECT_THROW(program.run(), std::runtime_error);
    EXPECT_EQ(later.load(), 0);
  }
  program.run();
  EXPECT_EQ(later.load(), 21);
}

TEST_P(ThreadPoolTest, AnErrorEndsTheStages) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> later{0};
    const auto fails = [&](std::int64_t i) {
      if (i == round) throw std::runtime_error("piece");
    };
    const auto counts = [&](std::int64_t) { later.fetch_add(1); };
    EXPECT_THROW(pool.run({ThreadPool::each(20, fails), ThreadPool::each(20, counts)}), std::runtime_error);
    EXPECT_EQ(later.load(), 0);
  }
}

TEST_P(ThreadPoolTest, ManySmallJobsInARow) {
  ThreadPool pool(GetParam());
  std::vector<std::int64_t> sums(4, 0);
  constexpr int kJobs = 500;
  for (int job = 0; job < kJobs; ++job)
    pool.for_each(4, [&](std::int64_t i) { sums[static_cast<std::size_t>(i)] += job; });
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, std::int64_t{kJobs} * (kJobs - 1) / 2);
}

// More threads than cores, so that many come late: to the end of a job, or to the middle of a later one.
TEST(ThreadPool, LateWorkersTakeNothingTwice) {
  ThreadPool pool(7);
  std::vector<int> visits[3];
  for (std::uint64_t job = 0; job < 4000; ++job) {
    for (std::uint32_t stage = 0; stage < 3; ++stage) visits[stage].assign(random_word(1, stage, job) % 40, 0);
    const auto visit = [&](std::size_t stage) {
      return [&visits, stage](std::int64_t begin, std::int64_t end) {
        for (; begin < end; ++begin) ++visits[stage][static_cast<std::size_t>(begin)];
      };
    };
    const auto first = visit(0), second = visit(1), third = visit(2);
    const auto count = [&](std::size_t stage) { return static_cast<std::int64_t>(visits[stage].size()); };
    pool.run({ThreadPool::runs(count(0), 5, first), ThreadPool::runs(count(1), 9, second, 4),
              ThreadPool::runs(count(2), 1, third)});
    for (const auto& stage : visits) ASSERT_EQ(stage, std::vector<int>(stage.size(), 1)) << job;
  }
}

// The same of programs, which are gone as soon as they have run, also when workers are still in one of their earlier
// runs and other jobs came after it.
TEST(ThreadPool, LateWorkersReadNoProgramThatIsGone) {
  ThreadPool pool(16);
  for (std::uint64_t job = 0; job < 2000; ++job) {
    std::vector<int> visits(random_word(3, 0, job) % 40, 0);
    const auto visit = [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; };
    const auto count = static_cast<std::int64_t>(visits.size());
    const auto runs = static_cast<int>(1 + job % 7), others = static_cast<int>(job % 6);
    {
      ThreadPool::Program program(pool, std::vector(5, ThreadPool::each(count, visit)));
      for (int i = 0; i < runs; ++i) program.run();
      for (int i = 0; i < others; ++i) pool.for_each(2, [](std::int64_t) {});
    }
    ASSERT_EQ(visits, std::vector<int>(visits.size(), 5 * runs)) << job;
  }
}

TEST_P(ThreadPoolTest, MoreTasksThanAShareTellsApart) {
  ThreadPool pool(GetParam());
  constexpr std::int64_t kCount = 700'001;
  std::vector<char> visits(kCount, 0);
  pool.for_each(kCount, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
  EXPECT_EQ(visits, std::vector<char>(kCount, 1));
}

TEST_P(ThreadPoolTest, WorksAfterItsWorkersFellAsleep) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> visits{0};
    // Pieces long enough that the caller falls asleep over the last one too.
    pool.for_each(64, [&](std::int64_t i) {
      if (i == 63) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      visits.fetch_add(1);
    });
    EXPECT_EQ(visits.load(), 64);
  }
}

TEST_P(ThreadPoolTest, RethrowsAndGoesOn) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 20; ++round) {
    try {
      pool.for_each(100, [&](std::int64_t i) {
        if (i == round) throw std::runtime_error("piece " + std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "piece " + std::to_string(round));
    }
    std::atomic<int> visits{0};
    pool.for_each(10, [&](std::int64_t) { visits.fetch_add(1); });
    EXPECT_EQ(visits.load(), 10);
  }
}

TEST_P(ThreadPoolTest, AllPiecesThrowing) {
  ThreadPool pool(GetParam());
  EXPECT_THROW(pool.for_each(100, [](std::int64_t) { throw std::logic_error("each"); }), std::logic_error);
  int visits = 0;
  pool.for_each(1, [&](std::int64_t) { ++visits; });
  EXPECT_EQ(visits, 1);
}

TEST(ThreadPool, TakesTheCoresOfTheProcess) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_EQ(ThreadPool().threads(), available_cores());
}

TEST(ThreadPool, ComesAndGoesWithoutWork) {
  for (int i = 0; i < 20; ++i) ThreadPool pool(3);
}

}  // namespace
}  // namespace attend
