// Sums, parts and texts of a world, over threads of one process that stand for its ranks.
#include <gtest/gtest.h>

#include "attend/base/dtype.h"
#include "attend/base/error.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/world/agreement.h"
#include "attend/world/comm_thread.h"
#include "attend/world/part.h"
#include "tests/world/thread_world.h"

namespace attend::test {
namespace {

// A number that is not the same twice, and whose sums round.
float value(int rank, std::size_t i) {
  return static_cast<float>((i * 37 + static_cast<std::size_t>(rank) * 101) % 1009) * 0.1f - 50;
}

class Sums : public testing::TestWithParam<int> {};

TEST_P(Sums, AreThoseOfAllRanksInTheirOrder) {
  const int size = GetParam();
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{1025}, (std::size_t{1} << 20) + 7}) {
    std::vector<std::vector<float>> found(static_cast<std::size_t>(size));
    in_world(size, [&](world::World& world) {
      std::vector<float>& own = found[static_cast<std::size_t>(world.rank())];
      for (std::size_t i = 0; i < count; ++i) own.push_back(value(world.rank(), i));
      world.all_reduce(std::span<float>(own));
    });
    std::vector<float> expected;
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (int rank = 0; rank < size; ++rank) sum += static_cast<double>(value(rank, i));
      expected.push_back(static_cast<float>(sum));
    }
    for (const std::vector<float>& all : found) EXPECT_TRUE(all == expected) << count;
  }
}

// What travels in bf16 is rounded twice: before it is sent, and as a sum.
TEST_P(Sums, MayTravelInHalfTheBytes) {
  const int size = GetParam();
  constexpr std::size_t kCount = 5000;
  std::vector<std::vector<float>> found(static_cast<std::size_t>(size));
  in_world(size, [&](world::World& world) {
    std::vector<float>& own = found[static_cast<std::size_t>(world.rank())];
    for (std::size_t i = 0; i < kCount; ++i) own.push_back(value(world.rank(), i));
    world.all_reduce(std::span<float>(own), world::Wire::bf16);
  });
  for (std::size_t i = 0; i < kCount; ++i) {
    double sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += static_cast<double>(Bf16(value(rank, i)));
    const float expected = size == 1 ? value(0, i) : static_cast<float>(Bf16(static_cast<float>(sum)));
    for (const std::vector<float>& all : found) ASSERT_EQ(all[i], expected) << i;
  }
}

// What a validation sums over its batches has the bits of one process.
TEST_P(Sums, OfBatchesThatAreSharedOut) {
  constexpr std::size_t kBatches = 11;
  const auto summed = [](world::World& world) {
    train::SharedBatches shared(world, kBatches, 2);
    for (std::size_t i = 0; i < kBatches; ++i)
      if (shared.mine(i)) shared.set(i, {1.0 / static_cast<double>(i + 3), static_cast<double>(i)});
    return shared.sums();
  };
  const std::vector<double> one = summed(world::alone());
  EXPECT_EQ(one[1], 55);
  in_world(GetParam(), [&](world::World& world) { EXPECT_EQ(summed(world), one); });
}

TEST(Parts, CoverAllOnce) {
  for (const std::int64_t size : {std::int64_t{64}, std::int64_t{640}, std::int64_t{100'032}})
    for (const int ranks : {1, 2, 3, 8, 1000}) {
      std::int64_t end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const world::Part part = world::part_of_rank(size, rank, ranks);
        EXPECT_EQ(part.begin, end);
        EXPECT_LE(part.count, world::part_of_rank(size, 0, ranks).count);
        end = part.end();
      }
      EXPECT_EQ(end, size);
    }
}

TEST(CommThreads, DoJobsInOrderAndBringErrorsBack) {
  std::vector<int> done;
  world::CommThread comm_thread(world::alone());
  for (int i = 0; i < 5; ++i) comm_thread.post([&, i](world::World&) { done.push_back(i); });
  comm_thread.wait();
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4}));
  comm_thread.post([](world::World&) { fail("nobody answers"); });
  comm_thread.post([&](world::World&) { done.push_back(5); });
  EXPECT_THROW(comm_thread.wait(), Error);
  comm_thread.wait();
  comm_thread.post([&](world::World&) { done.push_back(6); });
  comm_thread.wait();
  EXPECT_EQ(done.back(), 6);
}

TEST_P(Sums, AreScatteredInParts) {
  const int size = GetParam();
  constexpr std::size_t kPart = 5;
  in_world(size, [&](world::World& world) {
    std::vector<float> all, own(kPart);
    for (std::size_t i = 0; i < kPart * static_cast<std::size_t>(size); ++i) all.push_back(value(world.rank(), i));
    world.reduce_scatter(all, own);
    for (std::size_t i = 0; i < kPart; ++i) {
      double sum = 0;
      for (int rank = 0; rank < size; ++rank)
        sum += static_cast<double>(value(rank, kPart * static_cast<std::size_t>(world.rank()) + i));
      EXPECT_EQ(own[i], static_cast<float>(sum));
    }
    EXPECT_THROW(world.reduce_scatter(all, std::span<float>(own).first(kPart - 1)), Error);
  });
}

TEST_P(Sums, TextsOfAnyLengthComeInOrder) {
  const int size = GetParam();
  in_world(size, [&](world::World& world) {
    const auto text_of = [](int rank) { return std::string(static_cast<std::size_t>(rank) * 3, 'a'); };
    const std::vector<std::string> texts = world.all_gather(text_of(world.rank()));
    ASSERT_EQ(texts.size(), static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text_of(rank));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Sums, testing::Values(1, 2, 3, 8));

// Everybody throws the same, whoever it is that differs; nobody waits for somebody who has thrown.
TEST(Agreement, NamesWhoWasToldWhat) {
  in_world(3, [](world::World& world) {
    EXPECT_NO_THROW(world::check_agreement(world, {{"batch", 4}, {"out", "a"}}));
  });
  const auto said_by_all = [](const std::function<Json(int)>& told) {
    std::vector<std::string> said(3);
    in_world(3, [&](world::World& world) {
      try {
        world::check_agreement(world, told(world.rank()));
      } catch (const Error& error) {
        said[static_cast<std::size_t>(world.rank())] = error.what();
      }
    });
    EXPECT_EQ(said[0], said[1]);
    EXPECT_EQ(said[0], said[2]);
    return said[0];
  };
  EXPECT_EQ(said_by_all([](int rank) {
              return Json({{"out", "a"}, {"batch", rank == 2 ? 8 : 4}});
            }),
            "batch is 8 for rank 2, but 4 for rank 0: all processes need the same settings and the same files");
  EXPECT_EQ(said_by_all([](int rank) {
              return rank == 0 ? Json({{"a", 1}, {"b", "x"}}) : Json({{"a", 1}});
            }).substr(0, 44),
            "b is null for rank 1, but \"x\" for rank 0: al");
}

TEST(Alone, IsAWorldOfOne) {
  world::World& world = world::alone();
  EXPECT_EQ(world.size(), 1);
  EXPECT_TRUE(world.is_root());
  std::vector<float> values = {1, 2}, own(2);
  world.all_reduce(std::span<float>(values));
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  world.reduce_scatter(values, own);
  EXPECT_EQ(own, values);
  EXPECT_EQ(world.all_gather("x"), std::vector<std::string>{"x"});
  EXPECT_EQ(world::sharing_cores(world), 1);
}

}  // namespace
}  // namespace attend::test
