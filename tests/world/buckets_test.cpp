// Gradients in buckets, handed over while the backward pass runs: each is complete by then, and what a communicator of
// eight ranks (threads that take their time) makes of them is the sum.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "attend/backends.h"
#include "attend/models/gpt2.h"
#include "attend/train/gradient_buckets.h"
#include "attend/world/courier.h"
#include "attend/world/device_sums.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 8;

// Eight ranks of which seven have this one's numbers, too, over links of some delay.
class SlowSums : public DeviceSums {
 public:
  void start(const Numbers& numbers) override {
    ++started;
    courier_.post([numbers](World&) {
      std::this_thread::sleep_for(3ms);
      auto* values = static_cast<float*>(numbers.values);
      for (std::size_t i = 0; i < numbers.count; ++i) values[i] *= kRanks;
    });
  }
  void finish() override { courier_.wait(); }
  void gather(float*, std::int64_t) override {}
  int started = 0;

 private:
  Courier courier_{alone()};
};

struct Learner {
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
  Tensor ids = ids_of(*backend, 0), labels = ids_of(*backend, 1);

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
  Learner learner;
  const std::vector<float> own = learner.backward(nullptr, [] {});
  train::GradientBuckets buckets(learner.parameters, 2000);
  ASSERT_GT(buckets.count(), 8u);
  for (int pass = 0; pass < 3; ++pass) {
    SlowSums sums;
    buckets.begin(1, [&](const Tensor& gradients) {
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
  Learner learner;
  train::GradientBuckets buckets(learner.parameters, 2000);
  std::int64_t numbers = 0;
  for (const std::uint64_t key : {1, 2, 1, 2}) {
    numbers = 0;
    buckets.begin(key, [&](const Tensor& gradients) { numbers += gradients.size(); });
    learner.backward(&buckets, [&] { buckets.finish(); });
    EXPECT_EQ(numbers, learner.parameters.gradient().size());
  }
  EXPECT_GT(buckets.early(), 0u);
}

}  // namespace
}  // namespace attend::test
