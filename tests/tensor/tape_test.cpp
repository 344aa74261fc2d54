// The tape: gradients through graphs, what is kept and what is freed, and what outlives what.
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/tape.h"
#include "tests/tensor/null_backend.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Floats = std::vector<float>;

struct Leaf {
  explicit Leaf(Pass& pass, const Floats& values = {1, 2, 3})
      : x(pass.variable(tensor_of(pass.backend(), {static_cast<std::int64_t>(values.size())}, values))) {}
  Floats gradient() const { return download(gradient_of(x)); }
  Tensor x;
};

TEST(Tape, RunsADiamond) {
  Pass pass(cpu(), {.recording = true});
  const Leaf leaf(pass);
  const Tensor top = ops::scale(leaf.x, 2);                                 // 2x
  const Tensor left = ops::multiply(top, top), right = ops::scale(top, 3);  // 4x², 6x
  pass.backward(ops::sum(ops::add(left, right), 0));                        // 8x + 6
  EXPECT_EQ(leaf.gradient(), (Floats{14, 22, 30}));
}

// add hands one gradient to both of its inputs; a third reader adds to one of them only.
TEST(Tape, SharedGradientsAreCopiedBeforeTheyAreAddedTo) {
  Pass pass(cpu(), {.recording = true});
  const Leaf a(pass), b(pass);
  const Tensor left = ops::scale(a.x, 1), right = ops::scale(b.x, 1);
  const Tensor early = ops::scale(left, 10);  // its backward runs last of the three
  const Tensor sum = ops::add(left, right);
  const Tensor loss = ops::sum(ops::add(sum, early), 0);
  pass.backward(loss);
  EXPECT_EQ(a.gradient(), Floats(3, 11));
  EXPECT_EQ(b.gradient(), Floats(3, 1));
}

TEST(Tape, TheCallersGradientIsNotWrittenTo) {
  Pass pass(cpu(), {.recording = true});
  const Leaf leaf(pass);
  const Tensor dy = tensor_of(cpu(), {3}, {1, 2, 3});
  const Tensor top = ops::scale(leaf.x, 1), other = ops::scale(top, 5);
  const Tensor y = ops::add(ops::add(top, top), other);
  pass.backward(y, dy);
  EXPECT_EQ(leaf.gradient(), (Floats{7, 14, 21}));
  EXPECT_EQ(download(dy), (Floats{1, 2, 3}));
}

TEST(Tape, GradientsGatherOverBackwardPassesOfOneLeaf) {
  Pass pass(cpu(), {.recording = true});
  const Leaf leaf(pass);
  pass.backward(ops::sum(leaf.x, 0));
  pass.backward(ops::sum(ops::scale(leaf.x, 4), 0));
  EXPECT_EQ(leaf.gradient(), Floats(3, 5));
}

TEST(Tape, NothingFlowsWhereNothingIsWanted) {
  Pass pass(cpu(), {.recording = true});
  const Leaf leaf(pass), unused(pass);
  const Tensor input = pass.input(tensor_of(cpu(), {3}, {4, 5, 6}));
  const std::size_t before = pass.ops_recorded();
  ops::scale(input, 2);  // needs no gradient, so it is not recorded
  EXPECT_EQ(pass.ops_recorded(), before);
  pass.backward(ops::sum(ops::multiply(leaf.x, input), 0));
  EXPECT_EQ(leaf.gradient(), (Floats{4, 5, 6}));
  EXPECT_FALSE(gradient_of(unused.x).defined());
  EXPECT_FALSE(gradient_of(input).defined());
}

TEST(Tape, APassThatDoesNotRecordKeepsNothing) {
  Pass pass(cpu());
  const Leaf leaf(pass);
  const Tensor y = ops::sum(ops::scale(leaf.x, 2), 0);
  EXPECT_EQ(pass.ops_recorded(), 0u);
  EXPECT_EQ(pass.arena().live(), 1u);  // y
  EXPECT_THROW(pass.backward(y), Error);
}

TEST(Tape, RefusesToStartFromTheWrongTensor) {
  Pass pass(cpu(), {.recording = true}), other(cpu(), {.recording = true});
  const Leaf leaf(pass);
  const Tensor y = ops::scale(leaf.x, 2), constant = ops::sum(pass.input(tensor_of(cpu(), {3}, {1, 2, 3})), 0);
  EXPECT_THROW(pass.backward(y), Error);                                 // not a scalar
  EXPECT_THROW(pass.backward(y, tensor_of(cpu(), {2}, {1, 2})), Error);  // another shape
  EXPECT_THROW(pass.backward(constant), Error);                          // nothing to learn
  EXPECT_THROW(other.backward(ops::sum(y, 0)), Error);                   // another pass
}

// relu's result is kept for its slope; the product that went in is not needed by anyone.
TEST(Tape, FreesWhatNobodyCaptured) {
  NullBackend backend;
  Pass pass(backend, {.recording = true});
  const Tensor x = pass.variable(make_tensor(backend, {4, 8}, DType::f32));
  const Tensor weight = pass.variable(make_tensor(backend, {8, 8}, DType::f32));
  Tensor y = x;
  for (int layer = 0; layer < 5; ++layer) y = ops::linear(y, weight);
  EXPECT_EQ(pass.arena().live(), 5u);  // each layer's input is captured; the last result is held here
  y = Tensor();
  EXPECT_EQ(pass.arena().live(), 4u);  // that one nobody captured
}

TEST(Tape, TheBackwardPassFreesAsItGoes) {
  NullBackend backend;
  Pass pass(backend, {.recording = true});
  const Tensor x = pass.variable(make_tensor(backend, {4, 8}, DType::f32));
  Tensor y = x;
  for (int layer = 0; layer < 5; ++layer) y = ops::activation(y, Activation::gelu);
  const Tensor loss = ops::sum(y.reshape({32}), 0);
  y = Tensor();
  pass.backward(loss);
  EXPECT_EQ(pass.ops_recorded(), 0u);
  EXPECT_EQ(pass.arena().live(), 2u);  // the loss and the gradient of x
}

TEST(Tape, CrossEntropyPutsTheGradientInPlaceOfTheLogits) {
  NullBackend backend;
  Pass pass(backend, {.recording = true});
  const Tensor x = pass.variable(make_tensor(backend, {4, 100}, DType::f32));
  const Tensor targets = pass.input(make_tensor(backend, {4}, DType::i32));
  pass.begin({.plan = 1});
  void* place = nullptr;
  Tensor seen;
  {
    Tensor logits = ops::scale(x, 1);
    place = logits.raw();
    // A node between: tells what gradient arrives at the logits.
    const Tensor passed = record(like(logits), {logits}, [logits, &seen](const Tensor& dy, Grads& grad) {
      seen = dy;
      grad.give(logits, dy);
    });
    place = passed.raw();
    const Tensor loss = ops::cross_entropy(passed, targets).mean;
    // Still held by `passed`: must not be overwritten.
    pass.backward(loss);
    EXPECT_NE(seen.raw(), place);
  }
  seen = Tensor();
  {
    Tensor logits = ops::scale(x, 1);
    Tensor passed = record(like(logits), {logits}, [logits, &seen](const Tensor& dy, Grads& grad) {
      seen = dy;
      grad.give(logits, dy);
    });
    place = passed.raw();
    const Tensor loss = ops::cross_entropy(passed, targets).mean;
    passed = Tensor();
    pass.backward(loss);
    EXPECT_EQ(seen.raw(), place);
  }
}

TEST(Tape, TensorsOutliveTheirPass) {
  Tensor kept, gradient;
  {
    Pass pass(cpu(), {.recording = true});
    const Leaf leaf(pass);
    kept = ops::scale(leaf.x, 2);
    pass.backward(ops::sum(kept, 0));
    gradient = gradient_of(leaf.x);
  }
  EXPECT_EQ(kept.pass(), nullptr);
  EXPECT_EQ(download(kept), (Floats{2, 4, 6}));
  EXPECT_EQ(download(gradient), Floats(3, 2));
  EXPECT_EQ(download(ops::scale(kept, 2)), (Floats{4, 8, 12}));  // and can be computed with
}

TEST(Tape, MemoryOfAPassIsGivenBack) {
  NullBackend backend;
  {
    Tensor kept;
    {
      Pass pass(backend, {.recording = true});
      const Tensor x = pass.variable(make_tensor(backend, {8}, DType::f32));
      kept = ops::scale(ops::relu(x), 2);
      ops::gelu(kept);  // recorded, never run
    }
    EXPECT_GT(backend.live, 0u);
  }
  EXPECT_EQ(backend.live, 0u);
}

TEST(Tape, BeginRefusesWhileTensorsOfTheLastStepLive) {
  Pass pass(cpu(), {.recording = true});
  Tensor kept = ops::scale(pass.input(tensor_of(cpu(), {3}, {1, 2, 3})), 2);
  EXPECT_THROW(pass.begin({.plan = 1}), Error);
  kept = Tensor();
  EXPECT_NO_THROW(pass.begin({.plan = 1}));
}

TEST(Tape, AnErrorInTheForwardPassLeavesThePassUsable) {
  Pass pass(cpu(), {.recording = true});
  {
    const Leaf leaf(pass);
    const Tensor y = ops::scale(leaf.x, 2);
    EXPECT_THROW(ops::add(y, ops::scale(y, 2).reshape({3, 1})), Error);
  }
  pass.begin({});
  const Leaf leaf(pass);
  pass.backward(ops::sum(ops::scale(leaf.x, 2), 0));
  EXPECT_EQ(leaf.gradient(), Floats(3, 2));
}

// A parameter lives outside every pass and keeps its gradient there, in f32 even when it is bf16.
TEST(Tape, ParametersKeepTheirGradientInF32) {
  const Tensor weight = tensor_of(cpu(), {3}, {1, 2, 3}, DType::bf16);
  weight.storage()->differentiable = weight.storage()->keeps_gradient = weight.storage()->gradient_f32 = true;
  Pass pass(cpu(), {.recording = true});
  for (int step = 0; step < 3; ++step) {
    pass.begin({.plan = 1});
    const Tensor x = pass.input(tensor_of(cpu(), {3}, {1, 1, 1}, DType::bf16));
    pass.backward(ops::sum(ops::multiply(x, weight), 0));
  }
  const Tensor gradient = gradient_of(weight);
  ASSERT_EQ(gradient.dtype(), DType::f32);
  EXPECT_EQ(download(gradient), Floats(3, 3));
}

// The step of a training loop: from the second one on, no allocation at all.
TEST(Tape, AReplayedStepAllocatesNothing) {
  NullBackend backend;
  const Tensor input = make_tensor(backend, {16, 32}, DType::f32), weight = make_tensor(backend, {32, 32}, DType::f32);
  weight.storage()->differentiable = weight.storage()->keeps_gradient = true;
  Pass pass(backend, {.recording = true});
  std::size_t allocations = 0;
  void* first = nullptr;
  for (int step = 0; step < 6; ++step) {
    pass.begin({.plan = 1, .seed = static_cast<std::uint64_t>(step)});
    Tensor y = pass.input(input);
    for (int layer = 0; layer < 4; ++layer)
      y = ops::dropout(ops::linear(y, weight, {}, {.activation = Activation::gelu}), 0.1f);
    if (step >= 2) {
      EXPECT_TRUE(pass.arena().replaying());
      EXPECT_EQ(y.raw(), first) << "step " << step;
    }
    if (step == 1) first = y.raw();
    pass.backward(ops::sum(y.reshape({-1}), 0));
    EXPECT_TRUE(step < 2 || backend.allocations == allocations) << "step " << step;
    allocations = backend.allocations;
  }
}

}  // namespace
}  // namespace attend::test
