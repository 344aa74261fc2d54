// The arena: a step is written down once and replayed; whatever leaves its plan is still right.
#include <gtest/gtest.h>

#include <set>

#include "attend/base/error.h"
#include "attend/tensor/arena.h"
#include "tests/tensor/null_backend.h"

namespace attend::test {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

// A little step: two activations live together, the first goes, a third may take its place.
std::vector<std::byte*> step(Arena& arena, std::uint64_t key, std::size_t bytes = kMegabyte) {
  arena.begin(key);
  const Arena::Block a = arena.take(bytes), b = arena.take(bytes / 2);
  arena.give_back(a.number);
  const Arena::Block c = arena.take(bytes);
  arena.give_back(b.number);
  arena.give_back(c.number);
  return {a.data, b.data, c.data};
}

TEST(Arena, ReplaysTheFirstStep) {
  NullBackend backend;
  Arena arena(backend);
  step(arena, 1);
  EXPECT_FALSE(arena.replaying());
  const auto second = step(arena, 1);
  const std::size_t allocations = backend.allocations;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(step(arena, 1), second);
    EXPECT_TRUE(arena.replaying());
  }
  EXPECT_EQ(backend.allocations, allocations);
  EXPECT_EQ(arena.allocations(), allocations);
  // What does not live together shares memory; what does, does not.
  EXPECT_EQ(second[0], second[2]);
  EXPECT_NE(second[0], second[1]);
  EXPECT_EQ(arena.slab_bytes(), kMegabyte * 3 / 2);
}

TEST(Arena, KeepsAPlanAKey) {
  NullBackend backend;
  Arena arena(backend);
  for (std::uint64_t key : {1, 2, 1, 2}) step(arena, key, key * kMegabyte);
  const std::size_t allocations = backend.allocations;
  const std::uint64_t generation = arena.generation();
  for (std::uint64_t key : {2, 1, 1, 2}) {
    step(arena, key, key * kMegabyte);
    EXPECT_TRUE(arena.replaying());
  }
  EXPECT_EQ(backend.allocations, allocations);
  EXPECT_EQ(arena.generation(), generation);
  EXPECT_EQ(arena.slab_bytes(), 3 * kMegabyte);  // of the larger one
}

TEST(Arena, SaysWhenTheSlabMoves) {
  NullBackend backend;
  Arena arena(backend);
  step(arena, 1), step(arena, 1);
  const std::uint64_t before = arena.generation();
  step(arena, 2, 4 * kMegabyte), step(arena, 2, 4 * kMegabyte);
  EXPECT_NE(arena.generation(), before);
}

// Blocks that live at the same time never overlap, on the plan and off it.
class Ledger {
 public:
  explicit Ledger(Arena& arena) : arena_(arena) {}
  std::int32_t take(std::size_t bytes) {
    const Arena::Block block = arena_.take(bytes);
    for (const auto& [number, data, size] : live_)
      EXPECT_TRUE(block.data + bytes <= data || data + size <= block.data)
          << "blocks " << number << " and " << block.number;
    live_.push_back({block.number, block.data, bytes});
    return block.number;
  }
  void give_back(std::int32_t number) {
    arena_.give_back(number);
    std::erase_if(live_, [number](const Entry& entry) { return entry.number == number; });
  }
  void give_back_all() {
    while (!live_.empty()) give_back(live_.back().number);
  }

 private:
  struct Entry {
    std::int32_t number;
    std::byte* data;
    std::size_t bytes;
  };
  Arena& arena_;
  std::vector<Entry> live_;
};

// Takes and gives back at random; `from` changes what happens from some event on.
void random_step(Arena& arena, unsigned seed, int changed_from) {
  arena.begin(3);
  Ledger ledger(arena);
  std::vector<std::int32_t> live;
  for (int i = 0; i < 200; ++i) {
    if (i == changed_from) seed ^= 0x9e3779b9u;
    seed = seed * 1664525u + 1013904223u;
    const unsigned draw = seed >> 8;
    if (draw % 3 == 0 && !live.empty()) {
      const std::size_t which = draw / 3 % live.size();
      ledger.give_back(live[which]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      live.push_back(ledger.take(1 + draw % 100000));
    }
  }
  ledger.give_back_all();
}

TEST(Arena, PacksARandomStepWithoutOverlap) {
  NullBackend backend;
  Arena arena(backend);
  for (int i = 0; i < 3; ++i) random_step(arena, 7, -1);
  EXPECT_TRUE(arena.replaying());
}

TEST(Arena, SurvivesLeavingThePlan) {
  NullBackend backend;
  Arena arena(backend);
  for (int changed_from : {0, 1, 50, 199}) {
    random_step(arena, 7, -1), random_step(arena, 7, -1);
    EXPECT_TRUE(arena.replaying());
    random_step(arena, 7, changed_from);
    EXPECT_FALSE(arena.replaying());
  }
  random_step(arena, 7, -1), random_step(arena, 7, -1);  // made anew
  EXPECT_TRUE(arena.replaying());
}

TEST(Arena, AShorterStepIsNotTheSame) {
  NullBackend backend;
  Arena arena(backend);
  step(arena, 1), step(arena, 1);
  arena.begin(1);
  arena.give_back(arena.take(kMegabyte).number);  // gives back at once, where the plan takes another
  step(arena, 1);
  step(arena, 1);
  EXPECT_TRUE(arena.replaying());
}

TEST(Arena, WithoutAPlanReusesLooseBlocks) {
  NullBackend backend;
  Arena arena(backend);
  step(arena, Arena::kNoPlan);
  const std::size_t allocations = backend.allocations;
  for (int i = 0; i < 3; ++i) step(arena, Arena::kNoPlan);
  EXPECT_EQ(backend.allocations, allocations);
  EXPECT_FALSE(arena.replaying());
}

TEST(Arena, RefusesToBeginWhileBlocksLive) {
  NullBackend backend;
  Arena arena(backend);
  arena.begin(1);
  const Arena::Block block = arena.take(100);
  EXPECT_EQ(arena.live(), 1u);
  EXPECT_THROW(arena.begin(1), Error);
  arena.give_back(block.number);
  EXPECT_NO_THROW(arena.begin(1));
}

TEST(Arena, GivesEverythingBack) {
  NullBackend backend;
  {
    Arena arena(backend);
    random_step(arena, 7, -1), random_step(arena, 7, -1), random_step(arena, 8, 20);
  }
  EXPECT_EQ(backend.live, 0u);
}

TEST(Arena, AlignsAndServesEmptyBlocks) {
  NullBackend backend;
  Arena arena(backend);
  for (int i = 0; i < 2; ++i) {
    arena.begin(1);
    const Arena::Block a = arena.take(0), b = arena.take(1), c = arena.take(257);
    EXPECT_NE(a.data, b.data);
    const bool replayed = i == 1;
    EXPECT_EQ(arena.replaying(), replayed);
    EXPECT_TRUE(!replayed || ((b.data - a.data) % 256 == 0 && (c.data - b.data) % 256 == 0));
    for (const Arena::Block& block : {a, b, c}) arena.give_back(block.number);
  }
}

}  // namespace
}  // namespace attend::test
