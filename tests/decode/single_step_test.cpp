// A decoder's step as one kernel (tensor/causal_step.h): the logits of every step are those of reading the text whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attend/base/random.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/causal_decoder.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/backend.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kVocabularySize = 96, kMostPositions = 1400;

struct Shape {
  std::int64_t width, heads, layers;
};

class SingleStep : public OnDevice {
 protected:
  static models::GPT2Config config(const Shape& shape) {
    models::GPT2Config config;
    config.vocabulary = kVocabularySize, config.max_length = kMostPositions;
    config.width = shape.width, config.heads = shape.heads, config.layers = shape.layers;
    config.init_deviation = 0.08f;
    return config;
  }
  static Ids some_ids(std::size_t count, std::uint32_t stream) {
    Ids ids;
    for (std::size_t i = 0; i < count; ++i)
      ids.push_back(static_cast<std::int32_t>(random_word(7, stream, i) % kVocabularySize));
    return ids;
  }
  // The logits behind every token of a text that is read whole, [T, V].
  std::vector<float> whole(const models::GPT2LanguageModel& model, const Ids& ids) {
    Pass pass(backend());
    return download(model.logits({.ids = pass.input(nn::row_of(backend(), ids))}));
  }
};

// Both kernels round to bf16 in other places: a hundredth of the largest logit is a few of their last bits.
void expect_close(std::span<const float> actual, std::span<const float> expected, const std::string& where) {
  float largest = 0, worst = 0;
  for (const float x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(actual[i] - expected[i]));
  EXPECT_LT(worst, 0.03f * largest + 0.02f) << where;
}

TEST_P(SingleStep, GivesTheLogitsOfTheWholeText) {
  for (const Shape& shape : {Shape{256, 4, 3}, Shape{768, 12, 2}}) {
    models::GPT2LanguageModel model(config(shape));
    nn::Parameters parameters(backend(), model, {.dtype = DType::bf16, .seed = 3});
    for (const std::int64_t rows : {1, 2, 3, 17, 33, 64}) {
      if (!model.body().single_step(backend(), rows)) GTEST_SKIP() << "no such kernel on this device";
      // Prompts of different lengths, and steps past the 384 and 1,152 keys that are read ahead; with many rows past
      // those that the warps of a row read at once.
      const std::vector<std::size_t> starts =
          rows <= 2 ? std::vector<std::size_t>{1, 380, 1150} : std::vector<std::size_t>{1, 120};
      for (const std::size_t start : starts) {
        constexpr std::size_t kSteps = 12;
        std::vector<Ids> texts;
        std::vector<std::vector<float>> expected;
        for (std::int64_t row = 0; row < rows; ++row) {
          texts.push_back(
              some_ids(start + static_cast<std::size_t>(row) * 3 + kSteps, static_cast<std::uint32_t>(row)));
          expected.push_back(whole(model, texts.back()));
        }
        nn::CausalBatch batch(model.body(), backend(), rows, kMostPositions);
        std::vector<nn::BatchModel::Prompt> prompts;
        for (std::int64_t row = 0; row < rows; ++row) {
          const Ids& text = texts[static_cast<std::size_t>(row)];
          prompts.push_back({row, std::span(text).first(text.size() - kSteps)});
        }
        batch.enter(prompts, {});
        for (std::size_t step = 0; step < kSteps; ++step) {
          Ids tokens;
          for (const Ids& text : texts) tokens.push_back(text[text.size() - kSteps + step]);
          const nn::StepModel::Scores scores = batch.step({.tokens = tokens});
          for (std::size_t row = 0; row < texts.size(); ++row)
            expect_close(std::span(scores.logits).subspan(row * kVocabularySize, kVocabularySize),
                         std::span(expected[row])
                             .subspan((texts[row].size() - kSteps + step) * kVocabularySize, kVocabularySize),
                         "width " + std::to_string(shape.width) + ", row " + std::to_string(row) + " of " +
                             std::to_string(rows) + ", start " + std::to_string(start) + ", step " +
                             std::to_string(step));
        }
      }
    }
  }
}

// Rows go on from any row of their group, and a group leaves on the way.
TEST_P(SingleStep, FollowsBeams) {
  models::GPT2LanguageModel model(config({256, 4, 2}));
  nn::Parameters parameters(backend(), model, {.dtype = DType::bf16, .seed = 3});
  if (!model.body().single_step(backend(), 12)) GTEST_SKIP() << "no such kernel on this device";
  constexpr std::size_t kGroups = 3, kGroup = 4, kPrompt = 21;
  Ids all;
  std::vector<Ids> texts;
  for (std::size_t i = 0; i < kGroups; ++i) {
    const Ids prompt = some_ids(kPrompt, static_cast<std::uint32_t>(i));
    all.insert(all.end(), prompt.begin(), prompt.end());
    texts.insert(texts.end(), kGroup, prompt);
  }
  const Tensor prompts = make_tensor(backend(), {kGroups, kPrompt}, DType::i32);
  upload(prompts, all);
  Pass pass(backend());
  nn::CausalDecoder decoder(model.body(), pass, prompts, kGroup);
  EXPECT_EQ(model.body().single_step(backend(), 12), nullptr) << "nobody has the kernel";
  decoder.step(Ids(texts.size()), {});
  for (std::uint64_t step = 0; step < 60; ++step) {
    Ids tokens;
    for (std::size_t row = 0; row < texts.size(); ++row) {
      tokens.push_back(
          static_cast<std::int32_t>(random_word(11, static_cast<std::uint32_t>(row), step) % kVocabularySize));
      texts[row].push_back(tokens.back());
    }
    const nn::StepModel::Scores scores = decoder.step(tokens, {});
    for (std::size_t row = step % 3; row < texts.size(); row += 3) {
      const std::vector<float> expected = whole(model, texts[row]);
      expect_close(std::span(scores.logits).subspan(row * kVocabularySize, kVocabularySize),
                   std::span(expected).last(kVocabularySize),
                   "row " + std::to_string(row) + ", step " + std::to_string(step));
    }
    Ids from;
    std::vector<Ids> next;
    for (std::size_t row = step == 40 ? kGroup : 0; row < texts.size(); ++row) {
      from.push_back(static_cast<std::int32_t>(row / kGroup * kGroup +
                                               random_word(12, static_cast<std::uint32_t>(row), step) % kGroup));
      next.push_back(texts[static_cast<std::size_t>(from.back())]);
    }
    decoder.reorder(from);
    texts = std::move(next);
  }
}

TEST_P(SingleStep, IsOnePerDevice) {
  models::GPT2LanguageModel model(config({256, 4, 1}));
  nn::Parameters parameters(backend(), model, {.dtype = DType::bf16, .seed = 3});
  auto first = model.body().single_step(backend(), 1);
  if (!first) GTEST_SKIP() << "no such kernel on this device";
  EXPECT_EQ(model.body().single_step(backend(), 1), nullptr);
  first.reset();
  EXPECT_NE(model.body().single_step(backend(), 1), nullptr);
  // The kernel of many rows counts as one, too.
  auto many = model.body().single_step(backend(), 64);
  EXPECT_NE(many, nullptr);
  EXPECT_EQ(model.body().single_step(backend(), 1), nullptr);
  EXPECT_EQ(model.body().single_step(backend(), 65), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Devices, SingleStep, testing::Values("cuda"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace attend::test
