// Who is computed first: short requests beside long ones.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "attend/serve/engine/batch_queue.h"
#include "attend/serve/engine/engine.h"
#include "attend/serve/engine/metrics.h"

namespace attend::serve {
namespace {

using namespace std::chrono_literals;

TEST(FairTurns, LevelsDoubleFromTwentyMilliseconds) {
  EXPECT_EQ(Hosted::level_of(0), 0);
  EXPECT_EQ(Hosted::level_of(0.019), 0);
  EXPECT_EQ(Hosted::level_of(0.021), 1);
  EXPECT_EQ(Hosted::level_of(0.041), 2);
  EXPECT_EQ(Hosted::level_of(Hosted::kNoWork), 31);
}

// A request of a thousand items has had its 20 ms when another one comes with a single item, which is computed by
// itself.
TEST(FairTurns, AShortRequestHasABatchOfItsOwn) {
  Engine engine;
  Metrics metrics;
  std::vector<std::vector<int>> batches;  // the engine's until it is done
  std::atomic<bool> short_one_waits{false};
  std::promise<void> long_one_runs;
  const auto forward = [&](std::span<const int* const> items, const std::function<bool()>&) {
    std::vector<int> batch;
    for (const int* item : items) batch.push_back(*item);
    batches.push_back(batch);
    // Four items have had 25 ms each, and what everybody shares more than its fifth, which is its due.
    if (batches.size() <= 2) std::this_thread::sleep_for(100ms);
    if (batches.size() == 2) {
      long_one_runs.set_value();
      while (!short_one_waits) std::this_thread::sleep_for(1ms);
    }
    return batch;
  };
  const auto cost = [](const int&) { return std::int64_t{1}; };
  const auto queue = std::make_shared<BatchQueue<int, int>>(
      engine, metrics, BatchQueue<int, int>::Options{.budget = 4, .cost = cost, .forward = forward});
  engine.add(queue);
  const std::vector<int> many(1000, 1), one = {2};
  std::thread long_one([&] { EXPECT_EQ(queue->run(many).size(), many.size()); });
  long_one_runs.get_future().wait();
  std::thread short_one([&] { EXPECT_EQ(queue->run(one), std::vector<int>{2}); });
  while (queue->waiting() < many.size() - 8 + 1) std::this_thread::sleep_for(1ms);
  short_one_waits = true;
  short_one.join();
  long_one.join();
  ASSERT_GT(batches.size(), 2u);
  EXPECT_EQ(batches[2], std::vector<int>{2});
  std::size_t items = 0;
  for (const std::vector<int>& batch : batches) items += batch.size();
  EXPECT_EQ(items, many.size() + one.size());
}

}  // namespace
}  // namespace attend::serve
