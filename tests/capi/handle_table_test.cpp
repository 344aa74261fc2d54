// Numbers that stand for objects: none is given out twice, and what was taken is never found again.
#include "attend/capi/handle_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

namespace attend::capi {
namespace {

using Kind = HandleTable::Kind;

TEST(HandleTable, NoNumberTwice) {
  HandleTable table;
  std::set<std::uintptr_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::uintptr_t handle = table.add(Kind::results, std::make_shared<int>(i));
    EXPECT_TRUE(seen.insert(handle).second);
    EXPECT_EQ(handle % 2, 1u) << "no address of a struct";
    EXPECT_EQ(*std::static_pointer_cast<int>(table.find(Kind::results, handle)), i);
    EXPECT_EQ(table.find(Kind::model, handle), nullptr);
    EXPECT_EQ(table.take(Kind::memory, handle), nullptr);
    EXPECT_NE(table.take(Kind::results, handle), nullptr);
    for (const std::uintptr_t old : seen) ASSERT_EQ(table.find(Kind::results, old), nullptr);
  }
}

TEST(HandleTable, ASlotWhoseUsesAreSpentIsGivenUp) {
  HandleTable table(3);
  std::set<std::uintptr_t> seen;
  for (int i = 0; i < 100; ++i) {
    const std::uintptr_t handle = table.add(Kind::model, std::make_shared<int>(i));
    EXPECT_TRUE(seen.insert(handle).second) << i;
    table.take(Kind::model, handle);
  }
}

TEST(HandleTable, WhatIsNone) {
  HandleTable table;
  const std::uintptr_t handle = table.add(Kind::model, std::make_shared<int>(1));
  for (const std::uintptr_t other : {std::uintptr_t{0}, std::uintptr_t{1}, ~std::uintptr_t{0}, handle - 1, handle + 1,
                                     handle + 2, handle + (std::uintptr_t{1} << HandleTable::kHalf)}) {
    EXPECT_EQ(table.find(Kind::model, other), nullptr) << other;
    EXPECT_EQ(table.take(Kind::model, other), nullptr) << other;
  }
  EXPECT_NE(table.find(Kind::model, handle), nullptr);
}

TEST(HandleTable, OneOfManyThreadsTakesIt) {
  HandleTable table;
  for (int round = 0; round < 50; ++round) {
    const std::uintptr_t handle = table.add(Kind::results, std::make_shared<int>(round));
    std::atomic<int> took = 0;
    const auto take = [&] {
      if (table.take(Kind::results, handle)) ++took;
    };
    std::thread one(take), other(take);
    one.join(), other.join();
    EXPECT_EQ(took, 1);
  }
}

}  // namespace
}  // namespace attend::capi
