// global_attention beyond its cases: what a probe is shown, equality with the first positions of the kernels, and sets
// that cannot be.
#include "attend/ops/global_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "attend/base/error.h"
#include "attend/tensor/pass.h"
#include "tests/ops/attention_reference.h"
#include "tests/ops/devices.h"

namespace attend::test {
namespace {

constexpr std::int64_t kHeads = 2, kWide = 16;
const AttentionWindow kBand{.before = 2, .after = 1};

// Numbers without a pattern that attention could not tell from another.
Array numbers(const Shape& shape, double seed) {
  Array array(shape);
  for (std::int64_t r = 0; r < array.rows(); ++r)
    for (std::int64_t c = 0; c < array.width(); ++c)
      array.at(r, c) = std::sin(seed + 1.7 * static_cast<double>(r) + 0.9 * static_cast<double>(c * c % 31));
  return array;
}

Tensor tensor_of(const Array& array) {
  std::vector<float> values;
  for (std::int64_t r = 0; r < array.rows(); ++r)
    for (std::int64_t c = 0; c < array.width(); ++c) values.push_back(static_cast<float>(array.at(r, c)));
  Tensor tensor = make_tensor(cpu(), array.shape, DType::f32);
  upload(tensor, values);
  return tensor;
}

struct Keeper : Probe {
  std::string label;
  Shape shape;
  std::vector<float> weights;
  void attention(std::string_view of, const Tensor& shown) override {
    ASSERT_TRUE(weights.empty()) << "shown twice";
    label = of, shape = shown.shape(), weights = download(shown);
  }
};

struct Shown {
  std::vector<float> y;
  Keeper probe;
};

Shown run_on(const ops::AttentionLayout& layout, const std::vector<std::vector<std::int32_t>>& sets, const Array& q,
             const Array& k, const Array& v, const ops::GlobalListOptions& lists) {
  Shown shown;
  Pass pass(cpu(), {.probe = &shown.probe});
  const ops::GlobalPositions globals(cpu(), ops::global_lists(layout, sets, lists));
  const ops::AttentionOptions options{
      .heads = kHeads, .mask = {.causal = layout.causal, .window = kBand}, .label = "looked at"};
  shown.y = download(ops::global_attention(pass.input(tensor_of(q)), pass.input(tensor_of(k)), pass.input(tensor_of(v)),
                                           options, globals));
  return shown;
}

TEST(GlobalAttention, ShowsWeightsByThePlacesOfTheText) {
  constexpr std::int64_t kBatch = 2, kLength = 13;
  const std::vector<std::vector<std::int32_t>> sets = {{9, 4}, {12, 0, 6}};
  const Array q = numbers({kBatch, kLength, kWide}, 1), k = numbers({kBatch, kLength, kWide}, 2),
              v = numbers({kBatch, kLength, kWide}, 3);
  for (const bool causal : {false, true}) {
    ops::AttentionLayout layout = ops::AttentionLayout::padded(kBatch, kLength);
    layout.causal = causal;
    AttentionReference reference{.heads = kHeads, .causal = causal, .before = kBand.before, .after = kBand.after};
    for (std::size_t b = 0; b < sets.size(); ++b) {
      const std::int64_t row = static_cast<std::int64_t>(b) * kLength;
      reference.sequences.push_back({row, kLength, row, kLength, kLength, sets[b]});
    }
    const Shown shown = run_on(layout, sets, q, k, v, {});
    EXPECT_EQ(shown.probe.label, "looked at");
    ASSERT_EQ(shown.probe.shape, (Shape{kBatch, kHeads, kLength, kLength}));
    const float* weight = shown.probe.weights.data();
    for (std::size_t b = 0; b < sets.size(); ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t t = 0; t < kLength; ++t)
          for (const double wanted : reference.weights(q, k, b, h, t))
            ASSERT_NEAR(*weight++, wanted, 1e-5) << "text " << b << ", head " << h << ", token " << t;
  }
}

// The first n as a set, with copies and without, are what AttentionWindow::globals says.
TEST(GlobalAttention, OfTheFirstIsThatOfTheKernels) {
  constexpr std::int64_t kLength = 21;
  const Array q = numbers({1, kLength, kWide}, 4), k = numbers({1, kLength, kWide}, 5),
              v = numbers({1, kLength, kWide}, 6);
  for (const bool causal : {false, true}) {
    ops::AttentionLayout layout = ops::AttentionLayout::padded(1, kLength);
    layout.causal = causal;
    Keeper probe;
    Pass pass(cpu(), {.probe = &probe});
    AttentionWindow window = kBand;
    window.globals = 3;
    const std::vector<float> wanted =
        download(ops::attention(pass.input(tensor_of(q)), pass.input(tensor_of(k)), pass.input(tensor_of(v)),
                                {.heads = kHeads, .mask = {.causal = causal, .window = window}}));
    for (const bool copies : {false, true}) {
      const Shown shown = run_on(layout, {{2, 0, 1, 1}}, q, k, v, {.always_copies = copies});
      ASSERT_EQ(shown.y.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(shown.y[i], wanted[i], 1e-5) << i;
      for (std::size_t i = 0; i < probe.weights.size(); ++i)
        ASSERT_NEAR(shown.probe.weights[i], probe.weights[i], 1e-5) << i;
    }
  }
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(GlobalAttention, NamesWhatCannotBe) {
  const ops::AttentionLayout layout = ops::AttentionLayout::padded(2, 5);
  const auto lists = [&](const std::vector<std::vector<std::int32_t>>& sets) {
    return ops::global_lists(layout, sets);
  };
  EXPECT_NE(message_of([&] {
              lists({{1}, {5}});
            }).find("sequence 1 has 5 tokens, so they must be 0 to 4, not 5"),
            std::string::npos);
  EXPECT_NE(message_of([&] { lists({{3, -1}, {}}); }).find("not -1"), std::string::npos);
  EXPECT_NE(message_of([&] { lists({{1}}); }).find("1 sets for 2 sequences"), std::string::npos);

  const auto attend = [&](const ops::GlobalPositions& globals, const Shape& shape, AttentionMask mask) {
    const Tensor x = tensor_of(numbers(shape, 0));
    mask.window = kBand;
    ops::global_attention(x, x, x, {.heads = kHeads, .mask = mask}, globals);
  };
  const ops::GlobalPositions globals(cpu(), lists({{1}, {0, 4}}));
  EXPECT_EQ(message_of([&] { attend(globals, {2, 5, kWide}, {}); }), "");
  EXPECT_NE(message_of([&] { attend(globals, {2, 5, kWide}, {.causal = true}); }).find("causal"), std::string::npos);
  EXPECT_NE(message_of([&] { attend(globals, {2, 6, kWide}, {}); }).find("were made for 2 in 10"), std::string::npos);
  EXPECT_NE(message_of([&] { attend(globals, {1, 10, kWide}, {}); }).find("1 sequences in 10 rows"), std::string::npos);
  const Tensor bias = make_tensor(cpu(), {1, kHeads, 5, 5}, DType::f32);
  EXPECT_NE(message_of([&] { attend(globals, {2, 5, kWide}, {.bias = bias}); }).find("no bias"), std::string::npos);

  const auto with_seen_from = [&](const Tensor& from) {
    const Tensor x = tensor_of(numbers({2, 5, kWide}, 0));
    ops::attention(x, x, x, {.heads = kHeads, .mask = {.seen_from = from}});
  };
  EXPECT_NE(message_of([&] { with_seen_from(make_tensor(cpu(), {5}, DType::i32)); }).find("seen_from"),
            std::string::npos);
  EXPECT_NE(message_of([&] { with_seen_from(make_tensor(cpu(), {10}, DType::f32)); }), "");
}

}  // namespace
}  // namespace attend::test
