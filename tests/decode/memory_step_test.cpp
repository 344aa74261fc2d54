// A Transformer's decoder step as one kernel (tensor/causal_step.h): the logits of every step are those of its layers,
// with sources of different lengths, beams that trade places, and sources that leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "attend/base/random.h"
#include "attend/models/transformer.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/backend.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

class MemoryStep : public OnDevice {
 protected:
  static constexpr std::int64_t kWords = 90;
  static models::TransformerConfig config_of(std::int64_t width, std::int64_t heads, std::int64_t hidden) {
    return {.vocabulary = kWords,
            .width = width,
            .heads = heads,
            .hidden = hidden,
            .encoder_layers = 1,
            .decoder_layers = 3,
            .max_length = 96,
            .pre_norm = true};
  }
  // Sources of 1 to 45 tokens.
  nn::Sequences sources(std::int64_t count) {
    constexpr std::int64_t kLongest = 45;
    Ids ids, lengths;
    for (std::int64_t i = 0; i < count * kLongest; ++i) ids.push_back(word(3, i));
    for (std::int64_t i = 0; i < count; ++i)
      lengths.push_back(static_cast<std::int32_t>(1 + (kLongest - 1 + i * 29) % kLongest));
    nn::Sequences result{.ids = make_tensor(backend(), {count, kLongest}, DType::i32),
                         .lengths = make_tensor(backend(), {count}, DType::i32)};
    upload(result.ids, ids), upload(result.lengths, lengths);
    return result;
  }
  static std::int32_t word(std::uint32_t stream, std::int64_t i) {
    return static_cast<std::int32_t>(random_word(7, stream, static_cast<std::uint64_t>(i)) % kWords);
  }
  static std::size_t below(std::size_t count, std::uint32_t stream, std::int64_t i) {
    return random_word(8, stream, static_cast<std::uint64_t>(i)) % count;
  }

  // The logits of all steps. Rows go on from any row of their group, and half of the sources leave on the way: 96 rows
  // are too many for the kernel, which comes when 48 are left.
  std::vector<std::vector<float>> logits(const models::Transformer& model, std::int64_t count, std::size_t group,
                                         bool single) {
    Pass pass(backend());
    std::unique_ptr<CausalStep> held;  // a device has one such kernel
    if (!single) held = model.single_step(backend(), 3);
    const auto decoder = model.start(pass, sources(count).in(pass), static_cast<std::int64_t>(group));
    std::size_t rows = static_cast<std::size_t>(count) * group;
    std::vector<std::vector<float>> all;
    constexpr std::int64_t kSteps = 70;  // past the first room of the caches
    for (std::int64_t step = 0; step < kSteps; ++step) {
      Ids tokens;
      for (std::size_t row = 0; row < rows; ++row)
        tokens.push_back(word(4, step * 64 + static_cast<std::int64_t>(row)));
      const nn::StepModel::Scores scores = decoder->step(tokens);
      all.emplace_back(scores.logits.begin(), scores.logits.end());
      const std::size_t left = step == 50 && rows > group ? rows / group / 2 * group : rows;
      if (left == rows && (group == 1 || step % 5 == 3)) continue;
      Ids from;
      for (std::size_t row = rows - left; row < rows; ++row)
        from.push_back(static_cast<std::int32_t>(row / group * group +
                                                 below(group, 5, step * 64 + static_cast<std::int64_t>(row))));
      decoder->reorder(from);
      rows = left;
    }
    EXPECT_EQ(model.single_step(backend(), 3), nullptr) << "nobody has the kernel";
    return all;
  }
};

TEST_P(MemoryStep, GivesTheLogitsOfTheLayers) {
  for (const models::TransformerConfig& config : {config_of(256, 4, 1024), config_of(512, 8, 2048)}) {
    models::Transformer model(config);
    nn::Parameters parameters(backend(), model, {.dtype = DType::bf16, .seed = 3});
    model.place(backend(), DType::bf16);
    if (!model.single_step(backend(), 3)) GTEST_SKIP() << "no such kernel on this device";
    struct Rows {
      std::int64_t sources;
      std::size_t group;
    };
    for (const auto& [count, group] :
         {Rows{3, 1}, Rows{40, 1}, Rows{1, 1}, Rows{3, 4}, Rows{16, 4}, Rows{1, 2}, Rows{24, 4}}) {
      SCOPED_TRACE(std::to_string(config.width) + " wide, " + std::to_string(count) + " times " +
                   std::to_string(group));
      const auto expected = logits(model, count, group, false), actual = logits(model, count, group, true);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t step = 0; step < expected.size(); ++step) {
        float largest = 0, worst = 0;
        ASSERT_EQ(actual[step].size(), expected[step].size());
        for (std::size_t i = 0; i < expected[step].size(); ++i) {
          ASSERT_FALSE(std::isnan(actual[step][i]));
          largest = std::max(largest, std::abs(expected[step][i]));
          worst = std::max(worst, std::abs(actual[step][i] - expected[step][i]));
        }
        ASSERT_LT(worst, 0.03f * largest + 0.02f) << "step " << step;
      }
    }
  }
}

// Greedy search, whose steps run ahead of the host: each token is the likeliest of the layers, or nearly.
TEST_P(MemoryStep, GoesAhead) {
  models::Transformer model(config_of(256, 4, 1024));
  nn::Parameters parameters(backend(), model, {.dtype = DType::bf16, .seed = 3});
  model.place(backend(), DType::bf16);
  auto held = model.single_step(backend(), 5);
  if (!held) GTEST_SKIP() << "no such kernel on this device";
  constexpr std::size_t kRows = 5;
  Pass pass(backend()), beside(backend());
  const auto layers = model.start(pass, sources(kRows).in(pass), 1);
  held.reset();
  const auto single = model.start(beside, sources(kRows).in(beside), 1);
  Ids tokens(kRows, 1);
  for (int step = 0; step < 40; ++step) {
    const nn::StepModel::Scores chosen = single->step(tokens, 1);
    const Ids next(chosen.ids.begin(), chosen.ids.end());
    const std::vector<float> found(chosen.logits.begin(), chosen.logits.end());
    const nn::StepModel::Scores all = layers->step(tokens);
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto logits = std::span(all.logits).subspan(row * kWords, kWords);
      const float best = *std::ranges::max_element(logits), room = 0.03f * std::abs(best) + 0.05f;
      ASSERT_NEAR(found[row], best, room) << "step " << step << ", row " << row;
      ASSERT_NEAR(logits[static_cast<std::size_t>(next[row])], best, room) << "step " << step << ", row " << row;
    }
    tokens = next;
  }
}

// The paper's order of norms, positions inside of attention and other sizes are left to the layers.
TEST_P(MemoryStep, IsForSomeModels) {
  const auto has_step = [&](const models::TransformerConfig& config) {
    models::Transformer model(config);
    nn::Parameters parameters(backend(), model, {.dtype = DType::bf16, .seed = 3});
    model.place(backend(), DType::bf16);
    return model.single_step(backend(), 4) != nullptr;
  };
  models::TransformerConfig config = config_of(256, 4, 1024);
  if (!has_step(config)) GTEST_SKIP() << "no such kernel on this device";
  config.positions = "learned";
  EXPECT_TRUE(has_step(config));
  config.positions = "rotary";
  EXPECT_FALSE(has_step(config));
  config = config_of(256, 4, 1024), config.pre_norm = false;
  EXPECT_FALSE(has_step(config));
  config = config_of(256, 4, 1024), config.attention.attention_score = "cosine";
  EXPECT_FALSE(has_step(config));
  EXPECT_FALSE(has_step(config_of(256, 8, 1024)));
  EXPECT_FALSE(has_step(config_of(384, 6, 1536)));
}

INSTANTIATE_TEST_SUITE_P(Devices, MemoryStep, testing::Values("cuda"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace attend::test
