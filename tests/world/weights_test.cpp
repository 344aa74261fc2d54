// Batches of different sizes: ranks with a batch each learn what one process learns from all of them in one batch.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "attend/backends.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/reduce.h"
#include "attend/train/loop/trainer.h"
#include "tests/tensor/tensors.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/world/thread_world.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

struct Number {
  nn::Parameter at{{1}, {nn::Init::ones}};
  template <class Visitor>
  void visit(Visitor&& v) {
    v("number", at);
  }
};

// One number learns the mean of others: batch i has 1 + i mod 5 of them. Of `joined` batches in a row one is made.
class Means : public train::Task {
 public:
  Means(Backend& backend, std::uint64_t joined) : backend_(backend), joined_(joined) {}
  Number number;

  std::uint64_t next_batch() override {
    std::vector<float> values;
    for (std::uint64_t i = 0; i < joined_; ++i) {
      const std::uint64_t batch = taken_ + shard_.rank + i;
      for (std::uint64_t k = 0; k <= batch % 5; ++k) values.push_back(-static_cast<float>((batch * 7 + k * 3) % 11));
    }
    taken_ += joined_ * shard_.size;
    items_ = static_cast<std::int64_t>(values.size());
    Tensor& place = places_[items_];
    if (!place.defined()) place = make_tensor(backend_, {items_, 1}, DType::f32);
    upload(place, values);
    return static_cast<std::uint64_t>(items_);
  }
  std::int64_t batch_items() const override { return items_; }
  void take_shard(const data::Shard& shard) override { shard_ = shard; }
  train::Loss loss(Pass& pass) override {
    const Tensor off = ops::add(pass.input(places_.at(items_)), number.at.value);
    return ops::mean(ops::multiply(off, off), 0);
  }
  Json position() const override { return {{"batch", taken_}}; }
  void seek(const Json& position) override { taken_ = position["batch"].get<std::uint64_t>(); }
  train::Validation validate(world::World&) override { return {}; }

 private:
  Backend& backend_;
  std::uint64_t joined_, taken_ = 0;
  data::Shard shard_;
  std::int64_t items_ = 0;
  std::map<std::int64_t, Tensor> places_;
};

float learned(world::World& world, std::uint64_t joined, const fs::path& out) {
  const auto backend = open_backend("cpu", {.threads = 1});
  Means task(*backend, joined);
  nn::Parameters parameters(*backend, task.number);
  std::ostringstream messages;
  if (!world.is_root()) world.barrier();
  train::RunFolder folder({.out = out, .follows = !world.is_root()});
  if (world.is_root()) world.barrier();
  train::train(task, parameters,
               {.folder = &folder,
                .steps = 20,
                .accumulate = 2,
                .rate = [](std::int64_t) { return 0.05f; },
                .optimizer = {.kind = train::OptimizerOptions::sgd},
                .log_every = 5,
                .average = 1,
                .messages = &messages,
                .world = &world});
  return download(parameters.master())[0];
}

TEST(Weights, OfUnequalBatchesAreTheirSizes) {
  const fs::path folder = scratch_folder("attend_weights");
  for (const int size : {2, 3}) {
    const float whole = learned(world::alone(), static_cast<std::uint64_t>(size), folder / std::to_string(size));
    std::vector<float> parts(static_cast<std::size_t>(size));
    in_world(size, [&](world::World& world) {
      parts[static_cast<std::size_t>(world.rank())] = learned(world, 1, folder / (std::to_string(size) + "-together"));
    });
    for (const float part : parts) EXPECT_EQ(part, parts[0]);
    EXPECT_NEAR(parts[0], whole, 2e-6) << size;
    EXPECT_GT(whole, 2) << "it has learned something";
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend::test
