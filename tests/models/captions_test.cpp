// Decoders of captions: what the loss asks of the regions is what finite differences say, and one token at a time gives
// the logits of teacher forcing.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/models/gpt2_captions.h"
#include "attend/models/show_attend_tell.h"
#include "attend/models/show_tell.h"
#include "attend/models/transformer_captions.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

constexpr std::int64_t kWords = 23, kRegions = 6, kWidth = 10, kBatch = 3, kLength = 5;

std::unique_ptr<models::CaptionDecoder> decoder_of(const std::string& name) {
  if (name == "tell")
    return std::make_unique<models::ShowTell>(
        models::ShowTellConfig{.vocabulary = kWords, .width = 8, .hidden = 12, .dropout = 0}, kWidth);
  if (name == "tell_at_every_step")
    return std::make_unique<models::ShowTell>(
        models::ShowTellConfig{.vocabulary = kWords, .width = 8, .hidden = 12, .dropout = 0, .image_at = "every"},
        kWidth);
  if (name == "transformer" || name == "transformer_with_encoder")
    return std::make_unique<models::TransformerCaptions>(
        models::TransformerCaptionsConfig{.vocabulary = kWords,
                                          .width = 16,
                                          .heads = 2,
                                          .hidden = 24,
                                          .layers = 2,
                                          .encoder_layers = name == "transformer" ? 0 : 2,
                                          .dropout = 0},
        kWidth, "test");
  if (name == "gpt2")
    return std::make_unique<models::Gpt2Captions>(models::GPT2Config{.vocabulary = kWords,
                                                                     .max_length = 20,
                                                                     .width = 16,
                                                                     .layers = 2,
                                                                     .heads = 2,
                                                                     .embedding_dropout = 0,
                                                                     .attention_dropout = 0,
                                                                     .dropout = 0,
                                                                     .init_deviation = 0.3f,
                                                                     .cross_attention = true},
                                                  kWidth);
  return std::make_unique<models::ShowAttendTell>(
      models::ShowAttendTellConfig{
          .vocabulary = kWords, .width = 8, .hidden = 12, .attention = 7, .gate = name, .dropout = 0},
      kWidth);
}

class Captions : public testing::TestWithParam<const char*> {
 protected:
  Captions()
      : model_(decoder_of(GetParam())),
        parameters_(cpu(), model_->parameters(), {.seed = 3}),
        values_(static_cast<std::size_t>(kBatch * kRegions * kWidth)) {
    model_->place(cpu(), DType::f32, {2, 3});
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<float>(random_word(1, 2, i) % 2001) / 1000 - 1;
    std::vector<std::int32_t> ids, labels;
    std::vector<float> counted;
    for (std::int64_t i = 0; i < kBatch * kLength; ++i) {
      ids.push_back(static_cast<std::int32_t>(random_word(1, 3, static_cast<std::uint64_t>(i)) % kWords));
      const bool counts = i % kLength < kLength - i / kLength;  // captions of several lengths
      labels.push_back(counts ? static_cast<std::int32_t>(i % kWords) : -100);
      counted.push_back(counts ? 1.0f : 0.0f);
    }
    batch_ = {{make_tensor(cpu(), {kBatch, kLength}, DType::i32)},
              make_tensor(cpu(), {kBatch, kLength}, DType::i32),
              make_tensor(cpu(), {kBatch, kLength}, DType::f32)};
    upload(batch_.captions.ids, ids), upload(batch_.labels, labels), upload(batch_.counted, counted);
    ids_ = ids;
  }
  Tensor regions() const {
    const Tensor tensor = make_tensor(cpu(), {kBatch, kRegions, kWidth}, DType::f32);
    upload(tensor, values_);
    return tensor;
  }
  double loss() const {
    Pass pass(cpu());
    return static_cast<double>(download(model_->loss(pass.input(regions()), batch_.in(pass), 0.1f).total)[0]);
  }

  std::unique_ptr<models::CaptionDecoder> model_;
  nn::Parameters parameters_;
  std::vector<float> values_;
  models::CaptionBatch batch_;
  std::vector<std::int32_t> ids_;
};

TEST_P(Captions, WhatTheLossAsksOfRegionsIsWhatDifferencesSay) {
  Pass pass(cpu(), {.recording = true});
  const Tensor read = pass.variable(regions());
  parameters_.start_gradients();
  pass.backward(model_->loss(read, batch_.in(pass), 0.1f).total);
  parameters_.finish_gradients();
  const std::vector<float> gradient = download(gradient_of(read));
  double largest = 0;
  for (float value : gradient) largest = std::max(largest, std::abs(static_cast<double>(value)));
  ASSERT_GT(largest, 0);
  constexpr float kStep = 5e-2f;
  for (std::size_t i = 0; i < values_.size(); i += 7) {
    const float before = values_[i];
    values_[i] = before + kStep;
    const double above = loss();
    values_[i] = before - kStep;
    const double below = loss();
    values_[i] = before;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * static_cast<double>(kStep)), 0.02 * largest) << i;
  }
}

TEST_P(Captions, OneTokenAtATimeGivesTheLogitsOfTeacherForcing) {
  Pass pass(cpu());
  const std::vector<float> all =
      download(model_->logits(model_->decode(pass.input(regions()), batch_.captions.in(pass))));
  for (std::int64_t group : {1, 2}) {
    Pass stepping(cpu());
    const auto steps = model_->start(stepping, stepping.input(regions()), group);
    for (std::int64_t t = 0; t < kLength; ++t) {
      std::vector<std::int32_t> tokens;
      for (std::int64_t row = 0; row < kBatch * group; ++row)
        tokens.push_back(ids_[static_cast<std::size_t>(row / group * kLength + t)]);
      const nn::StepModel::Scores scores = steps->step(tokens);
      for (std::int64_t row = 0; row < kBatch * group; ++row)
        for (std::int64_t v = 0; v < kWords; ++v)
          ASSERT_NEAR(scores.logits[static_cast<std::size_t>(row * kWords + v)],
                      all[static_cast<std::size_t>((row / group * kLength + t) * kWords + v)], 2e-5)
              << "token " << t << ", row " << row;
    }
  }
}

TEST(PlainCaptions, BadSettingsAreNamed) {
  try {
    models::ShowTell({.vocabulary = kWords, .image_at = "last"}, kWidth);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "show-tell: 'image_at' is 'last', but must be one of first, every");
  }
  try {
    models::TransformerCaptions({.vocabulary = kWords, .encoder_layers = -1}, kWidth, "config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("encoder_layers"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, Captions,
                         testing::Values("tell", "tell_at_every_step", "scalar", "vector", "none", "transformer",
                                         "transformer_with_encoder", "gpt2"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace attend::test
