// Batch norm of two ranks, half of a batch each, beside that of one with all of it: results, gradients, and running
// statistics. Half of it far from the other half, so that the means of both differ. Alone, and with a residual and
// relu.
#include <gtest/gtest.h>

#include "attend/backends.h"
#include "attend/ops/image_norm.h"
#include "attend/tensor/pass.h"
#include "tests/world/thread_world.h"

namespace attend::test {
namespace {

constexpr std::int64_t kRows = 24, kChannels = 5;

class WorldSums : public BatchSums {
 public:
  explicit WorldSums(world::World& world) : world_(world) {}
  int processes() const override { return world_.size(); }
  void sum(const Tensor& values) override {
    world_.all_reduce(std::span(static_cast<float*>(values.raw()), static_cast<std::size_t>(values.size())));
  }

 private:
  world::World& world_;
};

struct Found {
  std::vector<float> y, dx, dresidual, dweight, dbias, mean, variance;
};

float number(std::int64_t i, std::int64_t salt) {
  return static_cast<float>((i * 37 + salt * 101) % 97) * 0.02f + (i < kRows / 2 * kChannels ? 3.0f : 0.0f);
}

std::vector<float> numbers(std::int64_t begin, std::int64_t count, std::int64_t salt) {
  std::vector<float> values;
  for (std::int64_t i = begin; i < begin + count; ++i) values.push_back(number(i, salt));
  return values;
}

// Rows from `begin` on. ended: a residual is added, and a relu follows.
Found normed(std::int64_t begin, std::int64_t rows, bool ended, BatchSums* sums) {
  const auto backend = open_backend("cpu", {.threads = 1});
  const auto made = [&](const Shape& shape, const std::vector<float>& values) {
    const Tensor x = make_tensor(*backend, shape, DType::f32);
    upload(x, values);
    return x;
  };
  const Shape batch{rows / 4, 2, 2, kChannels};
  const Tensor x = made(batch, numbers(begin * kChannels, rows * kChannels, 1));
  const Tensor dy = made(batch, numbers(begin * kChannels, rows * kChannels, 2));
  std::vector<float> more = numbers(begin * kChannels, rows * kChannels, 3);
  for (float& each : more) each -= 5;  // the relu hides some of the sums
  const Tensor weight = made({kChannels}, {0.5f, 1, 1.5f, 2, -1}), bias = made({kChannels}, {1, 2, 3, 4, 5});
  const ops::RunningStatistics running{made({kChannels}, {1, 1, 1, 1, 1}), made({kChannels}, {2, 2, 2, 2, 2})};
  Pass pass(*backend, {.recording = true});
  pass.set_batch_sums(sums);
  pass.begin({});
  const Tensor vx = pass.variable(x), vw = pass.variable(weight), vb = pass.variable(bias);
  const Tensor residual = pass.variable(made(batch, more));
  const Tensor y = ended ? ops::batch_norm(vx, vw, vb, running, {}, Activation::relu, residual)
                         : ops::batch_norm(vx, vw, vb, running);
  pass.backward(y, dy);
  return {download(y),
          download(gradient_of(vx)),
          ended ? download(gradient_of(residual)) : std::vector<float>(),
          download(gradient_of(vw)),
          download(gradient_of(vb)),
          download(running.mean),
          download(running.variance)};
}

void expect_near(const std::vector<float>& found, std::span<const float> expected, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-5) << what << ' ' << i;
}

class SharedBatchNorm : public testing::TestWithParam<bool> {};

TEST_P(SharedBatchNorm, OfTwoRanksIsThatOfOneBatch) {
  const bool ended = GetParam();
  const Found whole = normed(0, kRows, ended, nullptr);
  std::vector<Found> halves(2);
  in_world(2, [&](world::World& world) {
    WorldSums sums(world);
    const auto rank = static_cast<std::size_t>(world.rank());
    halves[rank] = normed(world.rank() * kRows / 2, kRows / 2, ended, &sums);
  });
  std::vector<float> dweight(kChannels), dbias(kChannels);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto half = [&](const std::vector<float>& all) {
      return std::span(all).subspan(rank * all.size() / 2, all.size() / 2);
    };
    expect_near(halves[rank].y, half(whole.y), "y");
    expect_near(halves[rank].dx, half(whole.dx), "dx");
    expect_near(halves[rank].dresidual, half(whole.dresidual), "dresidual");
    expect_near(halves[rank].mean, whole.mean, "mean");
    expect_near(halves[rank].variance, whole.variance, "variance");
    for (std::size_t c = 0; c < kChannels; ++c)
      dweight[c] += halves[rank].dweight[c], dbias[c] += halves[rank].dbias[c];
  }
  expect_near(dweight, whole.dweight, "dweight");
  expect_near(dbias, whole.dbias, "dbias");
}

INSTANTIATE_TEST_SUITE_P(Alone, SharedBatchNorm, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(WithResidualAndRelu, SharedBatchNorm, testing::Values(true));

}  // namespace
}  // namespace attend::test
