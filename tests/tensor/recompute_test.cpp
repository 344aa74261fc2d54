// recomputed(): the same numbers as without it, bit by bit, from less memory.
#include <gtest/gtest.h>

#include <array>

#include "attend/base/error.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/linear.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/step_graph.h"
#include "attend/tensor/tape.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Floats = std::vector<float>;

Tensor random_tensor(Backend& backend, const Shape& shape, std::uint32_t stream) {
  Tensor tensor = make_tensor(backend, shape, DType::f32);
  backend.random(tensor, {RandomFill::normal, 0, 0.5f, 1, stream});
  return tensor;
}

// Four gelu layers with dropout between them, that share a weight; each layer reads the input again.
Tensor layers(Pass& pass, const Tensor& x, const Tensor& weight, bool again) {
  Tensor y = x;
  for (int i = 0; i < 4; ++i) {
    const auto layer = [x, y, weight] {
      const Tensor hidden = ops::linear(ops::dropout(y, 0.3f), weight, {}, {.activation = Activation::gelu});
      return std::array<Tensor, 1>{ops::add(ops::dropout(ops::linear(hidden, weight), 0.2f), x)};
    };
    y = (again ? recomputed(pass, layer) : layer())[0];
  }
  return y;
}

struct Gradients {
  Floats y, x, weight;
  std::size_t live;  // blocks after the forward pass
};

Gradients gradients(bool again) {
  Pass pass(cpu(), {.recording = true});
  const Tensor x = pass.variable(random_tensor(cpu(), {3, 8}, 1));
  const Tensor weight = pass.variable(random_tensor(cpu(), {8, 8}, 2));
  pass.begin({.seed = 5});
  const Tensor y = layers(pass, x, weight, again);
  const std::size_t live = pass.arena().live();
  pass.backward(y, random_tensor(cpu(), {3, 8}, 3));
  return {download(y), download(gradient_of(x)), download(gradient_of(weight)), live};
}

TEST(Recompute, GivesTheSameBitsFromLessMemory) {
  const Gradients plain = gradients(false), again = gradients(true);
  EXPECT_EQ(plain.y, again.y);
  EXPECT_EQ(plain.x, again.x);
  EXPECT_EQ(plain.weight, again.weight);
  EXPECT_EQ(again.live, 4u);  // what goes from layer to layer
  EXPECT_GT(plain.live, 12u);
}

TEST(Recompute, PiecesNest) {
  const auto run = [](bool inner, bool outer) {
    Pass pass(cpu(), {.recording = true});
    const Tensor x = pass.variable(random_tensor(cpu(), {3, 8}, 1));
    const Tensor weight = pass.variable(random_tensor(cpu(), {8, 8}, 2));
    const auto all = [&pass, x, weight, inner] { return std::array<Tensor, 1>{layers(pass, x, weight, inner)}; };
    const Tensor y = (outer ? recomputed(pass, all) : all())[0];
    pass.backward(y, random_tensor(cpu(), {3, 8}, 3));
    return download(gradient_of(x));
  };
  const Floats plain = run(false, false);
  EXPECT_EQ(run(false, true), plain);
  EXPECT_EQ(run(true, true), plain);
}

// Only the weights inside want gradients: the piece is recorded all the same.
TEST(Recompute, ReachesWhatIsOnlyReadInside) {
  Pass pass(cpu(), {.recording = true});
  const Tensor x = pass.input(tensor_of(cpu(), {1, 2}, {3, 4}));
  const Tensor weight = pass.variable(tensor_of(cpu(), {1, 2}, {1, 1}));
  const auto [y] = recomputed(pass, [x, weight] { return std::array<Tensor, 1>{ops::linear(x, weight)}; });
  pass.backward(y);
  EXPECT_EQ(download(gradient_of(weight)), (Floats{3, 4}));
}

TEST(Recompute, AResultThatNobodyUsesAndOneThatIsNotThere) {
  Pass pass(cpu(), {.recording = true});
  const Tensor x = pass.variable(tensor_of(cpu(), {2}, {3, 4}));
  const auto results = recomputed(pass, [x] {
    return std::array<Tensor, 3>{ops::scale(x, 5), Tensor(), ops::scale(x, 2)};
  });
  pass.backward(ops::sum(results[2], 0));
  EXPECT_EQ(download(gradient_of(x)), (Floats{2, 2}));
}

TEST(Recompute, APassThatDoesNotRecordRunsItOnce) {
  Pass pass(cpu());
  int runs = 0;
  const Tensor x = pass.input(tensor_of(cpu(), {2}, {3, 4}));
  recomputed(pass, [x, &runs] { return ++runs, std::array<Tensor, 1>{ops::scale(x, 5)}; });
  EXPECT_EQ(runs, 1);
}

TEST(Recompute, AnErrorInTheSecondRunLeavesThePassUsable) {
  Pass pass(cpu(), {.recording = true});
  int runs = 0;
  {
    const Tensor x = pass.variable(tensor_of(cpu(), {2}, {3, 4}));
    const auto [y] = recomputed(pass, [x, &runs] {
      check(++runs < 2, "no more");
      return std::array<Tensor, 1>{ops::scale(x, 5)};
    });
    EXPECT_THROW(pass.backward(ops::sum(y, 0)), Error);
  }
  pass.begin({});
  const Tensor x = pass.variable(tensor_of(cpu(), {2}, {3, 4}));
  pass.backward(ops::sum(ops::scale(x, 3), 0));
  EXPECT_EQ(download(gradient_of(x)), (Floats{3, 3}));
}

class RecomputeOn : public OnDevice {};

// Three eager steps and then graphs, where the device has them; every step with dropout of its own.
TEST_P(RecomputeOn, ReplayedStepsGiveTheSameBits) {
  const auto run = [&](bool again) {
    const Tensor x = random_tensor(backend(), {3, 8}, 1), weight = random_tensor(backend(), {8, 8}, 2),
                 sum = tensor_of(backend(), {8, 8}, Floats(64)), dy = random_tensor(backend(), {3, 8}, 3);
    Pass pass(backend(), {.recording = true});
    StepGraph graph(pass);
    for (std::uint64_t step = 0; step < 6; ++step)
      graph.run(1, step, [&] {
        const Tensor w = pass.variable(weight);
        pass.backward(layers(pass, pass.variable(x), w, again), dy);
        backend().scale(gradient_of(w), 1, {sum, true});
      });
    return download(sum);
  };
  EXPECT_EQ(run(false), run(true));
}
INSTANTIATE_TEST_SUITE_P(Devices, RecomputeOn, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
