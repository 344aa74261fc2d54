// Models whose tokens look only so far: what is out of reach changes nothing, steps from a rolling cache give the
// logits of reading the text whole, and the settings are saved and loaded.
#include <gtest/gtest.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/models/bert_heads.h"
#include "attend/models/gpt2.h"
#include "attend/models/transformer.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/causal_decoder.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;
constexpr std::int64_t kTokens = 37, kLayers = 2;

models::GPT2Config windowed_config(const models::WindowSettings& window) {
  models::GPT2Config config;
  config.vocabulary = kTokens, config.max_length = 90, config.width = 32, config.layers = kLayers, config.heads = 4;
  config.init_deviation = 0.3f, config.window = window;
  return config;
}

Ids some_ids(std::size_t count, std::uint32_t stream = 1) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(random_word(7, stream, i) % kTokens));
  return ids;
}

const models::WindowSettings kWindows[] = {{.attention_window = {0}},
                                           {.attention_window = {5}},
                                           {.attention_window = {8, 3}},
                                           {.attention_window = {-1, 6}},
                                           {.attention_window = {4}, .global_tokens = 3},
                                           {.attention_window = {500}}};

class Windows : public OnDevice {
 protected:
  // The logits behind every token of a text that is read whole, [T, V].
  std::vector<float> whole(const models::GPT2LanguageModel& model, const Ids& ids) {
    Pass pass(backend());
    return download(model.logits({.ids = pass.input(nn::row_of(backend(), ids))}));
  }
  static void expect_row(std::span<const float> actual, const std::vector<float>& all, std::size_t row) {
    for (std::size_t v = 0; v < kTokens; ++v) ASSERT_NEAR(actual[v], all[row * kTokens + v], 1e-4) << "row " << row;
  }
};

TEST_P(Windows, WhatIsOutOfReachChangesNothing) {
  constexpr std::int64_t kWindow = 5;
  for (const std::int64_t globals : {0, 2}) {
    models::GPT2LanguageModel model(windowed_config({.attention_window = {kWindow}, .global_tokens = globals}));
    nn::Parameters parameters(backend(), model, {.seed = 3});
    Ids ids = some_ids(40);
    const std::vector<float> before = whole(model, ids);
    constexpr std::size_t kChanged = 9;
    ids[kChanged] = (ids[kChanged] + 1) % kTokens;
    const std::vector<float> after = whole(model, ids);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const bool same = std::equal(before.begin() + static_cast<std::ptrdiff_t>(t * kTokens),
                                   before.begin() + static_cast<std::ptrdiff_t>((t + 1) * kTokens),
                                   after.begin() + static_cast<std::ptrdiff_t>(t * kTokens));
      EXPECT_EQ(same, t < kChanged || t > kChanged + kLayers * kWindow) << "token " << t << ", globals " << globals;
    }
    ids[0] = (ids[0] + 1) % kTokens;  // and a global one is seen from everywhere
    const std::vector<float> first = whole(model, ids);
    EXPECT_EQ(std::equal(first.end() - kTokens, first.end(), after.end() - kTokens), globals == 0);
  }
}

TEST_P(Windows, RollingCachesGiveTheLogitsOfReadingTheWhole) {
  for (const models::WindowSettings& window : kWindows)
    for (const std::size_t prompt : {1u, 6u, 33u}) {
      models::GPT2LanguageModel model(windowed_config(window));
      nn::Parameters parameters(backend(), model, {.seed = 3});
      const Ids ids = some_ids(80);
      const std::vector<float> all = whole(model, ids);
      const Ids start(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(prompt));
      Pass pass(backend());
      nn::CausalDecoder decoder(model.body(), pass, nn::row_of(backend(), start), 1);
      for (std::size_t t = prompt; t <= ids.size(); ++t) {
        const Ids newest = {ids[t - 1]};
        expect_row(decoder.step(newest, 0).logits, all, t - 1);
      }
    }
}

// Rows of a search trade places, before and after the rings have rolled.
TEST_P(Windows, RowsMoveWithWhatTheirRingsHold) {
  models::GPT2LanguageModel model(windowed_config({.attention_window = {9}, .global_tokens = 1}));
  nn::Parameters parameters(backend(), model, {.seed = 3});
  Pass pass(backend());
  nn::CausalDecoder decoder(model.body(), pass, 1, 3);
  std::vector<Ids> rows(3);
  for (std::uint32_t t = 0; t < 40; ++t) {
    Ids newest, from;
    for (std::uint32_t r = 0; r < 3; ++r) {
      rows[r].push_back(t == 0 ? 1 : static_cast<std::int32_t>(random_word(5, r, t) % kTokens));
      newest.push_back(rows[r].back());
      from.push_back(static_cast<std::int32_t>(random_word(6, r, t) % 3));
    }
    const auto scores = decoder.step(newest, 0);
    for (std::size_t r = 0; r < 3; ++r) expect_row(scores.logits.subspan(r * kTokens), whole(model, rows[r]), t);
    decoder.reorder(from);
    std::vector<Ids> next;
    for (const std::int32_t parent : from) next.push_back(rows[static_cast<std::size_t>(parent)]);
    rows = std::move(next);
  }
}

TEST_P(Windows, TextsThatComeAndGoShareTheBatch) {
  for (const models::WindowSettings& window : kWindows) {
    models::GPT2LanguageModel model(windowed_config(window));
    nn::Parameters parameters(backend(), model, {.seed = 3});
    nn::CausalBatch batch(model.body(), backend(), 2, 90);
    const Ids texts[] = {some_ids(50, 1), some_ids(50, 2)};
    const std::size_t lengths[] = {3, 30};
    const std::vector<float> all[] = {whole(model, texts[0]), whole(model, texts[1])};
    std::vector<nn::BatchModel::Prompt> prompts;
    for (std::int64_t r = 0; r < 2; ++r) prompts.push_back({r, std::span(texts[r]).first(lengths[r])});
    auto scores = batch.enter(prompts, 0);
    for (std::size_t r = 0; r < 2; ++r) expect_row(scores.logits.subspan(r * kTokens), all[r], lengths[r] - 1);
    for (std::size_t step = 0; step < 18; ++step) {
      const Ids newest = {texts[0][lengths[0] + step], texts[1][lengths[1] + step]};
      scores = batch.step({.tokens = newest});
      for (std::size_t r = 0; r < 2; ++r) expect_row(scores.logits.subspan(r * kTokens), all[r], lengths[r] + step);
    }
  }
}

TEST_P(Windows, OfATranslatorDecodeAsTheyAreTaught) {
  models::TransformerConfig config{.vocabulary = kTokens,
                                   .width = 32,
                                   .heads = 4,
                                   .hidden = 48,
                                   .encoder_layers = 1,
                                   .decoder_layers = 2,
                                   .max_length = 64};
  config.window = {.attention_window = {6, 4}, .global_tokens = 1};
  models::Transformer model(config);
  nn::Parameters parameters(backend(), model, {.seed = 5});
  model.place(backend(), DType::f32);
  const Ids source = some_ids(20, 3), target = some_ids(40, 4);
  std::vector<float> forced;
  {
    Pass pass(backend());
    const nn::Sequences read{.ids = pass.input(nn::row_of(backend(), source))},
        written{.ids = pass.input(nn::row_of(backend(), target))};
    forced = download(model.logits(model.decode(read, written)));
  }
  Pass pass(backend());
  const auto decoder = model.start(pass, nn::Sequences{.ids = pass.input(nn::row_of(backend(), source))}, 1);
  for (std::size_t t = 0; t < target.size(); ++t) {
    const Ids newest = {target[t]};
    expect_row(decoder->step(newest).logits, forced, t);
  }
}

// Longformer's global projections, where they are the ordinary ones, change nothing; packed as padded.
TEST_P(Windows, GlobalProjectionsTakeTheFirstTokens) {
  models::BertConfig config{.family = models::BertFamily::longformer,
                            .vocabulary = kTokens,
                            .max_length = 80,
                            .types = 1,
                            .width = 32,
                            .layers = 2,
                            .heads = 4,
                            .hidden = 48,
                            .init_deviation = 0.2f,
                            .pad = 1};
  config.window = {.attention_window = {6}, .global_tokens = 3};
  models::Bert longformer(config, models::Bert::Pooler::without);
  config.family = models::BertFamily::roberta;
  models::Bert roberta(config, models::Bert::Pooler::without);
  nn::Parameters of_longformer(backend(), longformer, {.seed = 4}), of_roberta(backend(), roberta, {.seed = 4});
  const std::vector<nn::Parameters::Entry> from = nn::Parameters::list(longformer), to = nn::Parameters::list(roberta);
  const auto value = [](const std::vector<nn::Parameters::Entry>& entries, const std::string& name) {
    const auto found = std::ranges::find(entries, name, &nn::Parameters::Entry::name);
    EXPECT_NE(found, entries.end()) << name;
    return found->parameter->value;
  };
  std::size_t globals = 0;
  for (const auto& entry : from) {
    std::string name = entry.name;
    for (std::size_t at; (at = name.find("_global")) != std::string::npos;) name.erase(at, 7);
    globals += name != entry.name;
    upload(value(to, name), download(value(from, name)));
    if (name != entry.name) upload(entry.parameter->value, download(value(from, name)));
  }
  EXPECT_EQ(globals, 4u);
  const std::vector<Ids> texts = {some_ids(31, 1), some_ids(2, 2), some_ids(40, 3)};
  Ids packed, offsets = {0}, positions;
  std::vector<float> alone;
  for (Ids text : texts) {
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = 2 + text[i] % 30;
    packed.insert(packed.end(), text.begin(), text.end());
    offsets.push_back(static_cast<std::int32_t>(packed.size()));
    Ids places;
    for (std::size_t i = 0; i < text.size(); ++i) places.push_back(static_cast<std::int32_t>(2 + i));
    positions.insert(positions.end(), places.begin(), places.end());
    Pass pass(backend());
    const models::BertInput input{
        {.ids = pass.input(nn::row_of(backend(), text)), .positions = pass.input(nn::row_of(backend(), places))}};
    const std::vector<float> one = download(longformer.states(input)), other = download(roberta.states(input));
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 2e-4) << i;
    alone.insert(alone.end(), one.begin(), one.end());
  }
  const auto ints = [&](const Ids& values) {
    Tensor tensor = make_tensor(backend(), {static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(tensor, values);
    return tensor;
  };
  Pass pass(backend());
  const models::BertInput together{{.ids = pass.input(ints(packed)),
                                    .offsets = pass.input(ints(offsets)),
                                    .positions = pass.input(ints(positions)),
                                    .longest = 40}};
  const std::vector<float> all = download(longformer.states(together));
  ASSERT_EQ(all.size(), alone.size());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(all[i], alone[i], 2e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(Devices, Windows, testing::Values("cpu", "cuda"), [](const auto& info) { return info.param; });

TEST(WindowSettings, AreSavedAndLoaded) {
  for (const models::WindowSettings& window : kWindows) {
    const Json json = models::gpt2_json(windowed_config(window));
    EXPECT_EQ(models::gpt2_config(json, "config.json").window, window) << json.dump();
  }
  EXPECT_FALSE(models::gpt2_json(windowed_config({})).contains("attention_window"));
  EXPECT_EQ(models::gpt2_json(windowed_config({.attention_window = {5}}))["attention_window"], 5);
}

TEST(WindowSettings, ThatMakeNoSenseAreNamed) {
  const auto message = [](const models::WindowSettings& window, models::AttentionDirection looks) {
    try {
      window.check("config.json", 2, looks);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using models::AttentionDirection;
  EXPECT_EQ(message({.attention_window = {7}}, AttentionDirection::causal), "");
  EXPECT_NE(message({.attention_window = {7}}, AttentionDirection::bidirectional).find("must be even"),
            std::string::npos);
  EXPECT_NE(message({.attention_window = {2, 4, 6}}, AttentionDirection::causal).find("has 3 numbers"),
            std::string::npos);
  EXPECT_NE(message({.attention_window = {-2}}, AttentionDirection::causal).find("attention_window"),
            std::string::npos);
  EXPECT_NE(message({.attention_window = {2}, .global_tokens = -1}, AttentionDirection::causal).find("global_tokens"),
            std::string::npos);
  EXPECT_NE(message({.global_tokens = 2}, AttentionDirection::causal).find("without attention_window"),
            std::string::npos);
  Json json = models::gpt2_json(windowed_config({}));
  json["attention_window"] = Json::array();
  try {
    models::gpt2_config(json, "config.json");
    ADD_FAILURE() << "an empty list was read";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "config.json: 'attention_window' is an empty list; leave it out where every token sees all");
  }
}

}  // namespace
}  // namespace attend::test
