// A training step (forward, backward, clipping, AdamW) captured as a graph and launched again gives, bit for bit, what
// the same step gives when it is run op by op.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "attend/ops/attention.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"
#include "attend/ops/softmax.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

constexpr std::int64_t kVocabulary = 50, kWidth = 32, kBatch = 3, kLength = 17;

// One layer with everything in it that a model has: lookups, attention, dropout, norms, a loss; bf16 with f32 masters.
class Model {
 public:
  explicit Model(Backend& backend) : backend_(backend), pass_(backend, {.recording = true}) {
    for (const Shape& shape : {Shape{kVocabulary, kWidth}, Shape{kLength, kWidth}, Shape{3 * kWidth, kWidth},
                               Shape{kWidth, kWidth}, Shape{4 * kWidth, kWidth}, Shape{kWidth, 4 * kWidth}})
      add(shape, shape.size() ? 1 / std::sqrt(static_cast<float>(kWidth)) : 0);
    add({kWidth}, 1);
    ids_ = make_tensor(backend, {kBatch, kLength}, DType::i32);
    targets_ = make_tensor(backend, {kBatch * kLength}, DType::i32);
    rate_ = make_tensor(backend, {4}, DType::f32);
    norm_ = make_tensor(backend, {2}, DType::f32);
  }

  // What the host does before a step, replayed or not.
  void feed(int step) {
    std::vector<std::int32_t> ids, targets;
    for (std::int64_t i = 0; i < kBatch * kLength; ++i) {
      ids.push_back(static_cast<std::int32_t>((i * 7 + step * 13) % kVocabulary));
      targets.push_back((ids.back() * 3 + 1) % static_cast<std::int32_t>(kVocabulary));
    }
    upload(ids_, ids);
    upload(targets_, targets);
    upload(rate_, std::vector<float>{0.01f, 1 - std::pow(0.9f, static_cast<float>(step)),
                                     1 - std::pow(0.98f, static_cast<float>(step)), 0});
  }

  void step(std::uint64_t seed) {
    pass_.begin({.plan = 1, .seed = seed});
    for (Parameter& parameter : parameters_) parameter.value.storage()->written = false;
    {
      const Tensor h = ops::embedding(pass_.input(ids_), value(0), {.scale = 5, .positions = value(1)});
      const auto [q, k, v] = ops::split<3>(ops::linear(h, value(2)));
      const Tensor mixed = ops::attention(q, k, v, {.heads = 4, .mask = {.causal = true}, .dropout = 0.1f});
      const Tensor middle = ops::add_norm(h, ops::linear(mixed, value(3)), value(6), {}, {.dropout = 0.1f}).norm;
      const Tensor wide = ops::linear(middle, value(4), {}, {.activation = Activation::gelu_tanh});
      const Tensor last = ops::add_norm(middle, ops::linear(wide, value(5)), value(6), {}).norm;
      const Tensor logits = ops::linear(last, value(0));
      pass_.backward(ops::cross_entropy(logits, pass_.input(targets_), {.smoothing = 0.1f}).mean);
    }
    for (Parameter& parameter : parameters_) {
      const Tensor gradient = gradient_of(parameter.value).reshape({-1});
      backend_.gradient_norm(gradient, 0.5f, norm_);
      backend_.adamw({.value = parameter.value.reshape({-1}),
                      .master = parameter.master,
                      .gradient = gradient,
                      .rate = rate_,
                      .norm = norm_,
                      .weight_decay = 0.01f},
                     0.9f, 0.98f, 1e-6f, parameter.m, parameter.v);
    }
  }

  Pass& pass() { return pass_; }

  std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> all;
    for (const Parameter& parameter : parameters_) all.push_back(download(parameter.master));
    return all;
  }

 private:
  struct Parameter {
    Tensor value, master, m, v;
  };

  void add(const Shape& shape, float scale) {
    std::vector<float> start;
    unsigned seed = static_cast<unsigned>(parameters_.size()) + 1;
    for (std::int64_t i = 0; i < shape.size(); ++i) {
      seed = seed * 1664525u + 1013904223u;
      start.push_back(shape.rank() == 1 ? 1
                                        : scale * (static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1));
    }
    const std::vector<float> zeros(start.size(), 0);
    Parameter parameter{tensor_of(backend_, shape, start, DType::bf16), tensor_of(backend_, {shape.size()}, start),
                        tensor_of(backend_, {shape.size()}, zeros), tensor_of(backend_, {shape.size()}, zeros)};
    Storage* storage = parameter.value.storage();
    storage->differentiable = storage->keeps_gradient = storage->gradient_f32 = true;
    parameters_.push_back(parameter);
  }

  const Tensor& value(std::size_t i) const { return parameters_[i].value; }

  Backend& backend_;
  Pass pass_;
  std::vector<Parameter> parameters_;
  Tensor ids_, targets_, rate_, norm_;
};

class Graphs : public OnDevice {};

// Of a training step the CPU makes no graph: capture() runs it and returns nothing.
TEST_P(Graphs, ACapturedStepEqualsAnEagerOne) {
  constexpr int kWarm = 2, kSteps = 6;
  Model eager(backend()), captured(backend());
  for (int step = 1; step <= kSteps; ++step) {
    eager.feed(step);
    eager.step(static_cast<std::uint64_t>(step));
  }
  std::unique_ptr<Graph> graph;
  for (int step = 1; step <= kSteps; ++step) {
    captured.feed(step);
    const auto run = [&] { captured.step(static_cast<std::uint64_t>(step)); };
    if (step <= kWarm) {
      run();
      continue;
    }
    if (!graph) graph = backend().capture(run);
    ASSERT_EQ(graph == nullptr, backend().on_host());
    if (!graph) continue;
    captured.pass().set_seed(static_cast<std::uint64_t>(step));
    graph->launch();
    backend().synchronize();
  }
  const auto expected = eager.weights(), actual = captured.weights();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]) << "parameter " << i;
}

// A graph reads its inputs each time, and does nothing before it is launched.
TEST_P(Graphs, InputsMayChangeBetweenLaunches) {
  const Tensor x = make_tensor(backend(), {3, 5}, DType::f32), y = make_tensor(backend(), {3, 5}, DType::f32);
  upload(y, std::vector<float>(15, -1));
  const std::unique_ptr<Graph> graph = backend().capture([&] {
    backend().scale(x, 2, {y});
    backend().scale(x, 1, {.into = y, .accumulate = true});
  });
  ASSERT_TRUE(graph);
  EXPECT_EQ(download(y), std::vector<float>(15, -1));
  for (const float first : {1.0f, -7.0f, 0.5f}) {
    upload(x, counted(15, first));
    graph->launch();
    std::vector<float> expected = counted(15, first);
    for (float& v : expected) v *= 3;
    EXPECT_EQ(download(y), expected);
  }
}

TEST_P(Graphs, TheStepLearnsAndReplaysItsPlan) {
  Model model(backend());
  const auto before = model.weights();
  std::uint64_t generation = 0;
  for (int step = 1; step <= 4; ++step) {
    model.feed(step);
    model.step(static_cast<std::uint64_t>(step));
    EXPECT_EQ(model.pass().arena().replaying(), step > 1);
    EXPECT_TRUE(step <= 2 || generation == model.pass().arena().generation());
    generation = model.pass().arena().generation();
  }
  EXPECT_NE(before, model.weights());
}

INSTANTIATE_TEST_SUITE_P(On, Graphs, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
