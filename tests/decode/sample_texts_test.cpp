// Continuous batching: whoever shares the batch, a text is what it is alone, greedy and drawn, on CPU and GPU.
#include "attend/decode/sample_texts.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include "attend/base/error.h"
#include "attend/decode/sampler.h"
#include "attend/decode/text_rows.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/causal_decoder.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using decode::Hypothesis;
using decode::Text;

// 70 positions: caches that grow by doubling have more than the model.
models::GPT2Config batch_config() {
  models::GPT2Config config;
  config.vocabulary = 37, config.max_length = 70, config.width = 32, config.layers = 2, config.heads = 4;
  config.init_deviation = 0.3f;
  return config;
}

// Prompts of 1 to 20 tokens, texts of 1 to 49.
std::vector<Text> mixed_texts(std::size_t count) {
  std::vector<Text> texts;
  for (std::size_t i = 0; i < count; ++i) {
    Text text{.prompt = {}, .max_length = 1 + static_cast<std::int64_t>(i * i * 7 % 49), .seed = 100 + i};
    for (std::size_t t = 0; t < 1 + i * 13 % 20; ++t)
      text.prompt.push_back(static_cast<std::int32_t>((i + 3 * t) % 37));
    texts.push_back(text);
  }
  return texts;
}

class SampleTexts : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped()) parameters_.emplace(backend(), model_, nn::ParametersOptions{.seed = 3, .trained = false});
  }

  Hypothesis alone(const Text& text, decode::SampleOptions options) {
    const Tensor prompt = make_tensor(backend(), {1, static_cast<std::int64_t>(text.prompt.size())}, DType::i32);
    upload(prompt, text.prompt);
    Pass pass(backend());
    nn::CausalDecoder decoder(model_.body(), pass, prompt, 1);
    options.seed = text.seed, options.prompt = text.prompt, options.max_lengths = {text.max_length};
    return decode::sample(decoder, options)[0][0];
  }

  void expect_as_alone(const std::vector<Text>& texts, const decode::SampleOptions& draw) {
    for (const std::int64_t rows : {1, 3, 8}) {
      nn::CausalBatch batch(model_.body(), backend(), rows, 70);
      std::size_t done = 0;
      const std::vector<Hypothesis> results = decode::sample_texts(
          batch, texts, {.draw = draw, .together = rows / 3, .done = [&](std::size_t, const Hypothesis&) { ++done; }});
      ASSERT_EQ(results.size(), texts.size());
      EXPECT_EQ(done, texts.size());
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const Hypothesis expected = alone(texts[i], draw);
        EXPECT_EQ(results[i].tokens, expected.tokens) << "text " << i << " of " << rows << " rows";
        EXPECT_EQ(results[i].finished, expected.finished);
        EXPECT_NEAR(results[i].score, expected.score, 1e-4);
      }
    }
  }

  models::GPT2LanguageModel model_{batch_config()};
  std::optional<nn::Parameters> parameters_;
};

TEST_P(SampleTexts, GreedyTextsAreThoseWrittenAlone) { expect_as_alone(mixed_texts(20), {.top_k = 1, .end = 5}); }

TEST_P(SampleTexts, DrawnTextsAreThoseWrittenAlone) {
  expect_as_alone(mixed_texts(12), {.temperature = 0.9f, .top_k = 9, .end = 5});
  expect_as_alone(mixed_texts(12), {.top_p = 0.9f, .repetition_penalty = 1.3f, .end = 5, .suppressed = {7}});
  expect_as_alone(mixed_texts(12), {.end = 5, .suppressed = {7}});
  expect_as_alone(mixed_texts(12), {.temperature = 1.4f, .top_p = 0.8f, .min_p = 0.02f, .end = 5});
}

// Models draw by themselves, a device ahead of the host; only who is penalised for repeating is drawn from all logits,
// by the host. A penalty that is almost none must change nothing.
TEST_P(SampleTexts, TheModelDrawsAsTheHostDoes) {
  for (decode::SampleOptions draw : {decode::SampleOptions{.end = 5},
                                     {.temperature = 0.7f, .top_k = 12, .end = 5, .suppressed = {7, 8}},
                                     {.top_p = 0.85f, .end = 5},
                                     {.temperature = 1.3f, .min_p = 0.05f, .end = 5}})
    for (const Text& text : mixed_texts(12)) {
      const std::vector<std::int32_t> drawn = alone(text, draw).tokens;
      draw.repetition_penalty = 1.0000001f;
      EXPECT_EQ(alone(text, draw).tokens, drawn);
      draw.repetition_penalty = 1;
    }
}

// As a server's: they come while others are under way, some leave before their end, and who comes alone may have to
// wait for company.
TEST_P(SampleTexts, ThatComeWhileOthersAreUnderWayAreThoseWrittenAlone) {
  const decode::SampleOptions greedy{.top_k = 1, .end = 5}, drawn{.temperature = 1.2f, .top_p = 0.95f, .end = 5};
  const std::vector<Text> texts = mixed_texts(24);
  // Which are greedy: all, none, half of them.
  for (const auto& [patience, of] : std::vector<std::pair<std::size_t, std::array<const decode::SampleOptions*, 2>>>{
           {0, {&greedy, &greedy}}, {3, {&greedy, &greedy}}, {0, {&drawn, &drawn}}, {3, {&greedy, &drawn}}}) {
    nn::CausalBatch batch(model_.body(), backend(), 4, 70);
    decode::TextRows rows(batch, {.together = 2, .patience = patience});
    decode::Sampler drawers[] = {{*of[0], batch.vocabulary(), batch.suppress({})},
                                 {*of[1], batch.vocabulary(), batch.suppress({})}};
    std::vector<std::shared_ptr<decode::RowText>> all;
    std::size_t done = 0, steps = 0;
    while (all.size() < texts.size() || !rows.idle()) {
      if (all.size() < texts.size() && steps++ % 3 == 0) {
        const Text& next = texts[all.size()];
        const std::size_t kind = all.size() % 2;
        all.push_back(std::make_shared<decode::RowText>());
        decode::RowText& text = *all.back();
        text.prompt = next.prompt, text.max_length = next.max_length, text.seed = next.seed;
        text.options = of[kind], text.drawer = &drawers[kind];
        text.on_done = [&](const decode::RowText&) { ++done; };
        if (all.size() % 7 == 0) text.dropped = [&text] { return text.writing.hypothesis.tokens.size() >= 4; };
        rows.add(all.back());
      }
      rows.advance();
      ASSERT_LT(steps, 10000u);
    }
    EXPECT_GE(done, texts.size() - 3);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::int32_t> expected = alone(texts[i], *of[i % 2]).tokens;
      if (all[i]->dropped && expected.size() >= 4) expected.resize(4);
      EXPECT_EQ(all[i]->writing.hypothesis.tokens, expected)
          << "text " << i << ", patience " << patience << (of[i % 2] == &drawn ? ", drawn" : ", greedy");
    }
  }
}

TEST_P(SampleTexts, EndsWhereItIsTold) {
  nn::CausalBatch batch(model_.body(), backend(), 2, 70);
  const std::vector<Text> texts(5, Text{.prompt = {1, 2}, .max_length = 60});
  int steps = 0;
  const std::vector<Hypothesis> stopped = decode::sample_texts(
      batch, texts,
      {.draw = {.top_k = 1, .end = -1},
       .stop = [](std::size_t text, std::span<const std::int32_t> written) { return written.size() == 3 + text; },
       .stepped = [&](std::int64_t) { ++steps; }});
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(stopped[i].tokens.size(), 3 + i);
  EXPECT_LT(steps, 3 + 4 + 5 + 6 + 7);
  EXPECT_TRUE(decode::sample_texts(batch, {}, {}).empty());
  EXPECT_THROW(decode::sample_texts(batch, std::vector<Text>{{.prompt = {}}}, {}), Error);
  const std::vector<Text> too_long = {{.prompt = std::vector<std::int32_t>(71, 1)}};
  EXPECT_THROW(decode::sample_texts(batch, too_long, {}), Error);
  EXPECT_THROW(nn::CausalBatch(model_.body(), backend(), 2, 71), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, SampleTexts, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
