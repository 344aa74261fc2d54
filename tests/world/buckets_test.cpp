// Gradients in buckets, handed over while the backward pass runs: each is complete by then, and what a communicator of
// eight ranks (threads that take their time) makes of them is the sum.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "attend/backends.h"
#include "attend/models/gpt2.h"
#include "attend/train/loop/gradient_buckets.h"
#include "attend/world/comm_thread.h"
#include "attend/world/device_sums.h"
#include "tests/tensor/tensors.h"
#include "tests/world/thread_world.h"

namespace attend::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 8;

// Eight ranks of which seven have this one's numbers, too, over links of some delay.
class SlowSums : public world::DeviceSums {
 public:
  void start(const Numbers& numbers) override {
    ++started;
    courier_.post([numbers](world::World&) {
      std::this_thread::sleep_for(3ms);
      auto* values = static_cast<float*>(numbers.values);
      for (std::size_t i = 0; i < numbers.count; ++i) values[i] *= kRanks;
    });
  }
  void finish() override { courier_.wait(); }
  void gather(void*, std::int64_t, world::Wire) override {}
  int started = 0;

 private:
  world::CommThread courier_{world::alone()};
};

struct OptimizerTurn {
  explicit OptimizerTurn(std::int32_t from = 0) : ids(ids_of(*backend, from)), labels(ids_of(*backend, from + 1)) {}
  static models::GPT2Config small() {
    models::GPT2Config config;
    config.vocabulary = 50, config.max_length = 16, config.width = 32, config.layers = 3, config.heads = 2;
    config.embedding_dropout = config.attention_dropout = config.dropout = 0;
    config.start = config.end = 0;
    return config;
  }
  models::GPT2Config config = small();
  std::unique_ptr<Backend> backend = open_backend("cpu", {.threads = 2});
  models::GPT2LanguageModel model{config};
  nn::Parameters parameters{*backend, model};
  Pass pass{*backend, {.recording = true}};
  Tensor ids, labels;

  static Tensor ids_of(Backend& backend, std::int32_t from) {
    std::vector<std::int32_t> numbers;
    for (std::int32_t i = 0; i < 32; ++i) numbers.push_back((from + i * 7) % 50);
    const Tensor ids = make_tensor(backend, {2, 16}, DType::i32);
    upload(ids, numbers);
    return ids;
  }
  // The gradients of one pass. watch: sees it; null: nobody.
  template <class Around>
  std::vector<float> backward(BackwardWatch* watch, Around finish) {
    pass.begin({.plan = 1});
    parameters.start_gradients();
    const Tensor loss = model.loss(nn::Sequences{ids}.in(pass), pass.input(labels)).mean;
    pass.set_watch(watch);
    pass.backward(loss);
    pass.set_watch(nullptr);
    parameters.finish_gradients();
    finish();
    return download(parameters.gradient());
  }
};

TEST(Buckets, AreSummedWhileTheBackwardPassRuns) {
  OptimizerTurn learner;
  const std::vector<float> own = learner.backward(nullptr, [] {});
  train::GradientBuckets buckets(learner.parameters, 2000);
  ASSERT_GT(buckets.count(), 8u);
  for (int pass = 0; pass < 3; ++pass) {
    SlowSums sums;
    buckets.begin(1, train::GradientBuckets::When::complete, [&](const Tensor& gradients) {
      sums.start({.values = gradients.raw(), .count = static_cast<std::size_t>(gradients.size())});
    });
    const std::vector<float> all = learner.backward(&buckets, [&] {
      buckets.finish();
      sums.finish();
    });
    EXPECT_EQ(sums.started, static_cast<int>(buckets.count()));
    ASSERT_EQ(all.size(), own.size());
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], own[i] * kRanks) << i;
    // The first pass sees what comes when; the table at the bottom, which is also the last projection, comes at the
    // end.
    EXPECT_EQ(buckets.early() > buckets.count() / 2, pass > 0);
  }
}

TEST(Buckets, OfAnotherShapeHaveAPlanOfTheirOwn) {
  OptimizerTurn learner;
  train::GradientBuckets buckets(learner.parameters, 2000);
  std::int64_t numbers = 0;
  for (const std::uint64_t key : {1, 2, 1, 2}) {
    numbers = 0;
    buckets.begin(key, train::GradientBuckets::When::complete,
                  [&](const Tensor& gradients) { numbers += gradients.size(); });
    learner.backward(&buckets, [&] { buckets.finish(); });
    EXPECT_EQ(numbers, learner.parameters.gradient().size());
  }
  EXPECT_GT(buckets.early(), 0u);
}

// A rank of eight, over links of some delay that is not the same for all.
class SlowRankSums : public world::DeviceSums {
 public:
  explicit SlowRankSums(world::World& world) : world_(world), courier_(world) {}
  void start(const Numbers& numbers) override {
    courier_.post([this, numbers](world::World& world) {
      std::this_thread::sleep_for(std::chrono::microseconds(200 * (1 + world_.rank() % 3)));
      world.all_reduce(std::span(static_cast<float*>(numbers.values), numbers.count));
    });
  }
  void finish() override { courier_.wait(); }
  void gather(void*, std::int64_t, world::Wire) override {}

 private:
  world::World& world_;
  world::CommThread courier_;
};

// Each with a batch of its own, every other one of a shape that the rest has never seen.
TEST(Buckets, OfEightRanksAddUp) {
  std::vector<std::vector<float>> own(kRanks), summed(kRanks);
  std::vector<std::size_t> early(kRanks);
  in_world(kRanks, [&](world::World& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    OptimizerTurn learner(world.rank() * 3);
    own[rank] = learner.backward(nullptr, [] {});
    train::GradientBuckets buckets(learner.parameters, 2000);
    SlowRankSums sums(world);
    for (std::uint64_t pass = 0; pass < 3; ++pass) {
      const std::uint64_t key = pass == 1 && rank % 2 == 1 ? 9 : 1;
      buckets.begin(key, train::GradientBuckets::When::complete, [&](const Tensor& gradients) {
        sums.start({.values = gradients.raw(), .count = static_cast<std::size_t>(gradients.size())});
      });
      summed[rank] = learner.backward(&buckets, [&] {
        buckets.finish();
        sums.finish();
      });
      if (pass == 0) world.broadcast(std::as_writable_bytes(std::span(buckets.order())), 0);
    }
    early[rank] = buckets.early();
  });
  for (std::size_t i = 0; i < own[0].size(); ++i) {
    double sum = 0;
    for (const std::vector<float>& each : own) sum += static_cast<double>(each[i]);
    for (const std::vector<float>& each : summed) ASSERT_EQ(each[i], static_cast<float>(sum)) << i;
  }
  for (const std::size_t each : early) EXPECT_GT(each, 4u);
}

// Ranks with batches of other shapes, seen before or not, hand buckets over in the same order: sums meet by it.
TEST(Buckets, ComeInOneOrderWhateverTheShape) {
  OptimizerTurn learner;
  const auto handed_over = [&](train::GradientBuckets& buckets, std::uint64_t key, train::GradientBuckets::When when) {
    std::vector<std::int64_t> begins;
    buckets.begin(key, when, [&](const Tensor& gradients) { begins.push_back(gradients.window().offset); });
    learner.backward(&buckets, [&] { buckets.finish(); });
    return begins;
  };
  using When = train::GradientBuckets::When;
  train::GradientBuckets one(learner.parameters, 2000), other(learner.parameters, 2000);
  EXPECT_EQ(handed_over(one, 1, When::complete), handed_over(other, 2, When::complete));
  EXPECT_EQ(one.order(), other.order());
  EXPECT_EQ(handed_over(one, 1, When::complete), handed_over(other, 3, When::complete));  // 3 is new
  EXPECT_GT(one.early(), one.count() / 2);
  EXPECT_EQ(other.early(), 0u);
  EXPECT_EQ(handed_over(one, 1, When::at_end), handed_over(other, 2, When::complete));
  EXPECT_EQ(one.early(), 0u);
  EXPECT_TRUE(one.knows(1));
  EXPECT_FALSE(one.knows(2));
  // Where another rank's order is the one of all.
  std::ranges::reverse(one.order());
  std::ranges::reverse(other.order());
  const std::vector<std::int64_t> reversed = handed_over(one, 1, When::complete);
  EXPECT_EQ(reversed, handed_over(other, 4, When::complete));
  EXPECT_EQ(reversed.size(), one.count());
}

}  // namespace
}  // namespace attend::test
