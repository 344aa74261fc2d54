// Scores and positions of the Transformer: packed against padded batches, a file and back, what is refused; and that
// models of the paper are written as before.
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/models/gpt2.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/models/transformer.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

models::TransformerConfig small() {
  return {.vocabulary = 19,
          .width = 32,
          .heads = 2,
          .hidden = 24,
          .encoder_layers = 1,
          .decoder_layers = 1,
          .max_length = 24,
          .dropout = 0,
          .pre_norm = true};
}

Tensor ints(const Shape& shape, const Ids& values) {
  Tensor tensor = make_tensor(cpu(), shape, DType::i32);
  upload(tensor, values);
  return tensor;
}

std::string message_of(const Json& config) {
  try {
    catalogue::make_seq2seq(config, "config.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Json config_with(const Json& changes) {
  Json config = models::Transformer(small()).config();
  config.update(changes);
  return config;
}

TEST(TransformerOptions, PackedIsPadded) {
  std::vector<models::TransformerConfig> configs;
  for (const char* score : {"dot", "general", "cosine"}) {
    configs.push_back(small());
    configs.back().attention.attention_score = score;
  }
  for (const char* positions : {"rotary", "none"}) {
    configs.push_back(small());
    configs.back().positions = positions;
  }
  for (const char* positions : {"sinusoidal", "learned"}) {
    configs.push_back(small());
    configs.back().positions = positions, configs.back().combination.position_combination = "concatenate";
  }
  configs.push_back(small());
  configs.back().attention.attention_bias = false;
  for (const models::TransformerConfig& config : configs) {
    SCOPED_TRACE(config.attention.attention_score + " " + config.positions);
    models::Transformer model(config);
    nn::Parameters parameters(cpu(), model, {.seed = 2});
    model.place(cpu(), DType::f32);
    ASSERT_TRUE(model.takes_packed());
    Pass pass(cpu());
    const nn::Sequences padded{.ids = pass.input(ints({2, 4}, {3, 4, 5, 6, 7, 8, 0, 0})),
                               .lengths = pass.input(ints({2}, {4, 2}))};
    const nn::Sequences packed{.ids = pass.input(ints({6}, {3, 4, 5, 6, 7, 8})),
                               .offsets = pass.input(ints({3}, {0, 4, 6})),
                               .positions = pass.input(ints({6}, {0, 1, 2, 3, 0, 1})),
                               .longest = 4};
    const std::vector<float> one = download(model.logits(model.decode(padded, padded)));
    const std::vector<float> two = download(model.logits(model.decode(packed, packed)));
    const std::size_t words = 19;
    for (std::size_t row = 0; row < 6; ++row)
      for (std::size_t v = 0; v < words; ++v) ASSERT_NEAR(one[row * words + v], two[row * words + v], 1e-5) << row;
  }
}

// Words in another order are other sentences, unless nothing says where they stand.
TEST(TransformerOptions, PositionsTellOrdersApart) {
  for (const char* positions : {"sinusoidal", "learned", "rotary", "relative", "none"}) {
    models::TransformerConfig config = small();
    config.positions = positions;
    models::Transformer model(config);
    nn::Parameters parameters(cpu(), model, {.seed = 2});
    model.place(cpu(), DType::f32);
    for (const nn::Parameters::Entry& entry : parameters.entries())
      if (entry.name.find("relative_bias") != std::string::npos) {
        std::vector<float> values = parameters.read(entry);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(3 * i));
        parameters.write(entry, values);
      }
    Pass pass(cpu());
    const auto last_state = [&](const Ids& ids) {
      const models::Encoded read = model.encode(nn::Sequences{pass.input(ints({1, 3}, ids))});
      const std::vector<float> all = download(read.states);
      return std::vector<float>(all.end() - 32, all.end());
    };
    const std::vector<float> one = last_state({4, 5, 6}), two = last_state({5, 4, 6});
    double difference = 0;
    for (std::size_t i = 0; i < one.size(); ++i) difference += std::fabs(static_cast<double>(one[i] - two[i]));
    EXPECT_EQ(difference > 1e-3, std::string(positions) != "none") << positions << " " << difference;
  }
}

TEST(TransformerOptions, GoIntoConfigAndBack) {
  const Json plain = models::Transformer(small()).config();
  for (const char* key :
       {"attention_score", "attention_scale", "attention_bias", "position_combination", "position_width"})
    EXPECT_FALSE(plain.contains(key)) << key;
  const Json changes = {{"attention_score", "additive"},
                        {"attention_bias", false},
                        {"positions", "learned"},
                        {"position_combination", "concatenate"},
                        {"position_width", 8}};
  const auto model = catalogue::make_seq2seq(config_with(changes), "config.json");
  for (const auto& [key, value] : changes.items()) EXPECT_EQ(model->config()[key], value) << key;
  for (const nn::Parameters::Entry& entry : model->parameters()) {
    const bool attention = entry.name.find("attn") != std::string::npos;
    EXPECT_FALSE(attention && entry.name.ends_with("bias")) << entry.name;
  }
  EXPECT_EQ(message_of(config_with({{"attention_scale", "none"}})), "");
}

TEST(TransformerOptions, WrongOnesAreNamed) {
  EXPECT_EQ(message_of(config_with({{"attention_score", "bilinear"}})),
            "config.json: unknown attention_score 'bilinear'; there are scaled-dot, dot, general, additive and cosine");
  EXPECT_EQ(message_of(config_with({{"attention_scale", "half"}})),
            "config.json: unknown attention_scale 'half'; there are sqrt and none");
  EXPECT_NE(message_of(config_with({{"attention_score", "cosine"}, {"attention_scale", "none"}})).find("has no scale"),
            std::string::npos);
  EXPECT_NE(message_of(config_with({{"positions", "circular"}})).find("unknown positions 'circular'"),
            std::string::npos);
  EXPECT_NE(message_of(config_with({{"position_combination", "multiply"}})).find("there are add and concatenate"),
            std::string::npos);
  for (const std::int64_t width : {32, 7, -2, 64})
    EXPECT_NE(message_of(config_with({{"position_combination", "concatenate"}, {"position_width", width}}))
                  .find("position_width must be even"),
              std::string::npos)
        << width;
  EXPECT_NE(message_of(config_with({{"position_width", 8}})).find("it needs concatenate"), std::string::npos);
  EXPECT_NE(message_of(config_with({{"positions", "rotary"}, {"position_combination", "concatenate"}}))
                .find("not in the embeddings"),
            std::string::npos);
  EXPECT_NE(message_of(config_with({{"attention_score", "additive"}, {"attention_window", {4}}}))
                .find("does not go with the additive score"),
            std::string::npos);
  Json rnn = models::RnnSeq2Seq({.vocabulary = 9, .width = 8, .hidden = 8}).config();
  EXPECT_FALSE(rnn.contains("attention_score"));
  rnn["attention_score"] = "bilinear";
  EXPECT_NE(message_of(rnn).find("unknown attention_score 'bilinear'"), std::string::npos);
}

// Texts that enter a batch, and one more token of each: the logits of the whole text alone.
TEST(Gpt2Positions, StepsGiveTheLogitsOfTheWholeText) {
  for (const char* positions : {"learned", "sinusoidal", "rotary", "relative", "none"}) {
    SCOPED_TRACE(positions);
    models::GPT2 model({.vocabulary = 17,
                        .max_length = 20,
                        .width = 32,
                        .layers = 2,
                        .heads = 2,
                        .init_deviation = 0.3f,
                        .start = 0,
                        .end = 0,
                        .positions = positions});
    nn::Parameters parameters(cpu(), model, {.seed = 4});
    for (const nn::Parameters::Entry& entry : parameters.entries())
      if (entry.name.find("relative_bias") != std::string::npos) {
        std::vector<float> values = parameters.read(entry);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(3 * i));
        parameters.write(entry, values);
      }
    const auto whole = [&](const Ids& ids) {
      Pass pass(cpu());
      const Tensor states =
          model.states(nn::Sequences{pass.input(ints({1, static_cast<std::int64_t>(ids.size())}, ids))});
      const std::vector<float> all = download(model.logits(states));
      return std::vector<float>(all.end() - 17, all.end());
    };
    std::vector<Ids> texts = {{3, 4, 5}, {6, 7, 8, 9, 10}};
    nn::CausalBatch batch(model, cpu(), 2, 20);
    std::vector<nn::CausalBatch::Prompt> prompts = {{0, texts[0]}, {1, texts[1]}};
    const auto copied = [](const nn::StepModel::Scores& scores) {
      return std::vector<float>(scores.logits.begin(), scores.logits.end());
    };
    std::vector<float> logits = copied(batch.enter(prompts, {}));
    for (int step = 0; step < 8; ++step) {
      ASSERT_EQ(logits.size(), 34u);
      Ids tokens;
      for (std::size_t row = 0; row < 2; ++row) {
        const std::vector<float> expected = whole(texts[row]);
        for (std::size_t v = 0; v < 17; ++v) ASSERT_NEAR(logits[row * 17 + v], expected[v], 1e-4) << step;
        tokens.push_back(static_cast<std::int32_t>((5 * step + 3 * static_cast<int>(row) + 1) % 17));
        texts[row].push_back(tokens.back());
      }
      logits = copied(batch.step({.tokens = tokens}));
    }
  }
}

}  // namespace
}  // namespace attend::test
