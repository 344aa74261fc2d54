#include "attend/tensor/block_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "attend/base/random.h"

namespace attend::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(BlockCache, RoundsByAnEighthAtMost) {
  EXPECT_EQ(BlockCache::rounded(0), 512u);
  EXPECT_EQ(BlockCache::rounded(1), 512u);
  EXPECT_EQ(BlockCache::rounded(512), 512u);
  EXPECT_EQ(BlockCache::rounded(513), 1024u);
  EXPECT_EQ(BlockCache::rounded(kMiB), kMiB);
  for (std::size_t bytes = 4096; bytes <= 128 * kMiB; bytes += bytes / 7 + 1) {
    EXPECT_GE(BlockCache::rounded(bytes), bytes);
    EXPECT_LE(BlockCache::rounded(bytes), bytes + bytes / 8 + 512);
    EXPECT_EQ(BlockCache::rounded(BlockCache::rounded(bytes)), BlockCache::rounded(bytes));
  }
  EXPECT_EQ(BlockCache::rounded(128 * kMiB + 1), 128 * kMiB + 1);  // a plan of all memory stays as it is
}

TEST(BlockCache, GivesOutWhatWasKept) {
  BlockCache cache;
  int a = 0, b = 0;
  EXPECT_FALSE(cache.keep(&a, 1000));  // nothing may be kept yet
  cache.set_most(kMiB);
  EXPECT_TRUE(cache.keep(&a, 1000));
  EXPECT_EQ(cache.take(2000), nullptr);
  EXPECT_TRUE(cache.keep(&b, 2000));
  EXPECT_EQ(cache.kept(), 3072u);
  EXPECT_EQ(cache.take(1024), &a);  // rounded alike
  EXPECT_EQ(cache.take(1000), nullptr);
  EXPECT_EQ(cache.take(1999), &b);
  EXPECT_EQ(cache.kept(), 0u);
}

TEST(BlockCache, KeepsNoMoreThanItMay) {
  BlockCache cache;
  cache.set_most(200 * kMiB);
  int blocks[4];
  EXPECT_FALSE(cache.keep(&blocks[0], 129 * kMiB));
  EXPECT_TRUE(cache.keep(&blocks[0], 100 * kMiB));  // 104 MiB, as it was asked for
  EXPECT_FALSE(cache.keep(&blocks[1], 100 * kMiB));
  EXPECT_TRUE(cache.keep(&blocks[1], 96 * kMiB));
  EXPECT_FALSE(cache.keep(&blocks[2], 5 * kMiB));
  EXPECT_EQ(cache.give_up().size(), 2u);
  EXPECT_EQ(cache.kept(), 0u);
  EXPECT_EQ(cache.take(100 * kMiB), nullptr);
  EXPECT_TRUE(cache.give_up().empty());
}

// No block is ever in two hands, and each is large enough for who has it.
TEST(BlockCache, NeverGivesABlockTwice) {
  BlockCache cache;
  cache.set_most(4 * kMiB);
  std::vector<char> places(100'000);
  std::size_t next = 0;
  std::map<void*, std::size_t> sizes;  // of all blocks from the driver
  std::vector<std::pair<void*, std::size_t>> held;
  std::set<void*> in_hand;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t word = random_word(7, 1, i);
    if (held.empty() || word % 2 == 0) {
      const std::size_t bytes = word / 2 % 300'000;
      void* data = cache.take(bytes);
      if (!data) {
        data = &places[next++];
        sizes[data] = BlockCache::rounded(bytes);
      }
      EXPECT_GE(sizes[data], bytes);
      EXPECT_TRUE(in_hand.insert(data).second);
      held.emplace_back(data, bytes);
    } else {
      const std::size_t which = word / 2 % held.size();
      const auto [data, bytes] = held[which];
      held[which] = held.back();
      held.pop_back();
      in_hand.erase(data);
      if (!cache.keep(data, bytes)) sizes.erase(data);
      EXPECT_LE(cache.kept(), 4 * kMiB);
    }
  }
}

}  // namespace
}  // namespace attend::test
