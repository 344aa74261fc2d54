// Recurrent networks for text with each cell: against plain loops in double, gradients against their differences, and
// generation step by step against whole texts.
#include "attend/models/text_rnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "tests/models/rnn_reference.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using models::TextRnnConfig;
using Ids = std::vector<std::int32_t>;

Backend& small_backend() {
  static const std::unique_ptr<Backend> kBackend = open_backend("cpu", {.threads = 1});
  return *kBackend;
}

Tensor rows_of(const Shape& shape, const Ids& values) {
  Tensor tensor = make_tensor(small_backend(), shape, DType::i32);
  upload(tensor, values);
  return tensor;
}

const std::vector<Ids> kTexts = {{3, 1, 4, 1, 5}, {9, 2}, {6, 5, 3}};
const Ids kPadded = {3, 1, 4, 1, 5, 9, 2, 0, 0, 0, 6, 5, 3, 0, 0}, kLengths = {5, 2, 3};
const Ids kNext = {1, 4, 1, 5, -100, 2, -100, -100, -100, -100, 5, 3, -100, -100, -100};
const Ids kClasses = {2, 0, 1};

class TextRnns : public testing::TestWithParam<const char*> {
 protected:
  TextRnnConfig config() const { return {.vocabulary = 11, .width = 6, .layers = 2, .cell = GetParam(), .dropout = 0}; }
  TextRnnConfig classifier_config() const {
    TextRnnConfig result = config();
    result.labels = {"a", "b", "c"};
    return result;
  }
  static nn::Sequences texts() { return {.ids = rows_of({3, 5}, kPadded), .lengths = rows_of({3}, kLengths)}; }

  // No parameter keeps its start of zero, so that none can be missed.
  template <class Model>
  static nn::Parameters weights(Model& model) {
    nn::Parameters parameters(small_backend(), model.parameters(), {});
    std::mt19937 random(7);
    for (const auto& entry : parameters.entries()) {
      std::vector<float> values(static_cast<std::size_t>(entry.parameter->shape.size()));
      for (float& value : values) value = std::uniform_real_distribution<float>(-0.6f, 0.6f)(random);
      parameters.write(entry, values);
    }
    return parameters;
  }
  RnnReference reference(const nn::Parameters& parameters) const {
    return RnnReference({.width = 6, .hidden = 6, .layers = 2, .cell = GetParam()}, parameters);
  }

  // The gradient of a loss, at some numbers of every parameter, against differences of the same loss in double.
  template <class Loss>
  void expect_gradients(const nn::Parameters& parameters, RnnReference& reference, const Loss& loss) const {
    const std::vector<float> gradient = download(parameters.gradient());
    for (const auto& entry : parameters.entries()) {
      std::vector<double>& values = reference.weights.at(entry.name);
      for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 5) {
        const double before = values[i], step = 1e-4;
        values[i] = before + step;
        const double above = loss();
        values[i] = before - step;
        const double below = loss();
        values[i] = before;
        EXPECT_NEAR(gradient[static_cast<std::size_t>(entry.offset) + i], (above - below) / (2 * step), 5e-6)
            << entry.name << " " << i;
      }
    }
  }
};

double loss_of(const std::vector<double>& logits, std::int32_t label) {
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  return std::log(sum) - logits[static_cast<std::size_t>(label)];
}

// As Parameters::list(), for a class that is no LanguageModel.
struct Classifier : models::RnnClassifier {
  using RnnClassifier::RnnClassifier;
  std::vector<nn::Parameters::Entry> parameters() { return nn::Parameters::list(*this); }
};

TEST_P(TextRnns, LanguageModelComputesPlainLoops) {
  models::RnnLanguageModel model(config());
  nn::Parameters parameters = weights(model);
  RnnReference loops = reference(parameters);
  Pass pass(small_backend(), {.recording = true});
  parameters.start_gradients();
  const std::vector<float> logits = download(model.logits(texts().in(pass)));
  for (std::size_t b = 0; b < kTexts.size(); ++b) {
    const auto states = loops.read_text(kTexts[b]);
    for (std::size_t t = 0; t < states.size(); ++t)
      for (std::size_t v = 0; v < 11; ++v)
        ASSERT_NEAR(logits[(b * 5 + t) * 11 + v], loops.logits_of(states[t])[v], 2e-5) << b << " " << t;
  }
  const ops::Loss loss = model.loss(texts().in(pass), pass.input(rows_of({3, 5}, kNext)));
  pass.backward(loss.mean);
  parameters.finish_gradients();
  const auto expected = [&] {
    double sum = 0;
    for (const Ids& text : kTexts) {
      const auto states = loops.read_text(text);
      for (std::size_t t = 0; t + 1 < text.size(); ++t) sum += loss_of(loops.logits_of(states[t]), text[t + 1]);
    }
    return sum / 7;
  };
  EXPECT_NEAR(download(loss.mean)[0], expected(), 1e-5);
  expect_gradients(parameters, loops, expected);
}

// Padding behind a text changes nothing.
TEST_P(TextRnns, ClassifierComputesPlainLoops) {
  Classifier model(classifier_config());
  nn::Parameters parameters = weights(model);
  RnnReference loops = reference(parameters);
  Pass pass(small_backend(), {.recording = true});
  parameters.start_gradients();
  const std::vector<float> logits = download(model.logits(texts().in(pass)));
  for (std::size_t b = 0; b < kTexts.size(); ++b) {
    const auto scores = loops.label_scores(loops.read_text(kTexts[b]).back());
    for (std::size_t i = 0; i < 3; ++i) ASSERT_NEAR(logits[b * 3 + i], scores[i], 2e-5) << b;
  }
  const ops::Loss loss = model.loss(texts().in(pass), pass.input(rows_of({3}, kClasses)));
  pass.backward(loss.mean);
  parameters.finish_gradients();
  const auto expected = [&] {
    double sum = 0;
    for (std::size_t b = 0; b < kTexts.size(); ++b)
      sum += loss_of(loops.label_scores(loops.read_text(kTexts[b]).back()), kClasses[b]);
    return sum / 3;
  };
  EXPECT_NEAR(download(loss.mean)[0], expected(), 1e-5);
  expect_gradients(parameters, loops, expected);
}

TEST_P(TextRnns, StepsGiveWhatTheWholeTextGives) {
  models::RnnLanguageModel model(config());
  const nn::Parameters parameters = weights(model);
  const RnnReference loops = reference(parameters);
  const auto expect_scores = [&](std::span<const float> logits, const Ids& text) {
    const auto expected = loops.logits_of(loops.read_text(text).back());
    for (std::size_t v = 0; v < 11; ++v) ASSERT_NEAR(logits[v], expected[v], 2e-5) << text.size();
  };
  Pass pass(small_backend());
  const auto decoder = model.start(pass, rows_of({1, 3}, {3, 1, 4}), 2, 4);
  auto scores = decoder->step(Ids{4, 4});
  expect_scores(scores.logits.first(11), {3, 1, 4}), expect_scores(scores.logits.subspan(11), {3, 1, 4});
  scores = decoder->step(Ids{7, 8});
  expect_scores(scores.logits.first(11), {3, 1, 4, 7}), expect_scores(scores.logits.subspan(11), {3, 1, 4, 8});
  decoder->reorder(Ids{1, 1});
  scores = decoder->step(Ids{2, 5});
  expect_scores(scores.logits.first(11), {3, 1, 4, 8, 2}), expect_scores(scores.logits.subspan(11), {3, 1, 4, 8, 5});
  EXPECT_THROW(model.start(pass, rows_of({3}, {1, 2, 3}), 1, 4), Error);
}

// Texts of different lengths enter rows beside a text that is under way.
TEST_P(TextRnns, TextsEnterAndLeaveABatch) {
  models::RnnLanguageModel model(config());
  const nn::Parameters parameters = weights(model);
  const RnnReference loops = reference(parameters);
  const auto expect_scores = [&](const nn::StepModel::Scores& scores, std::size_t row, const Ids& text) {
    const auto expected = loops.logits_of(loops.read_text(text).back());
    for (std::size_t v = 0; v < 11; ++v) ASSERT_NEAR(scores.logits[row * 11 + v], expected[v], 2e-5) << row;
  };
  const auto batch = model.batch(small_backend(), 3, 20);
  const Ids first = {5, 6}, second = {1, 2, 3, 4}, third = {9};
  expect_scores(batch->enter(std::vector<nn::BatchModel::Prompt>{{1, first}}, {}), 0, {5, 6});
  expect_scores(batch->step({.tokens = Ids{0, 7, 0}}), 1, {5, 6, 7});
  const auto entered = batch->enter(std::vector<nn::BatchModel::Prompt>{{2, second}, {0, third}}, {});
  expect_scores(entered, 0, second), expect_scores(entered, 1, third);
  const auto scores = batch->step({.tokens = Ids{1, 8, 5}});
  expect_scores(scores, 0, {9, 1}), expect_scores(scores, 1, {5, 6, 7, 8}), expect_scores(scores, 2, {1, 2, 3, 4, 5});
  batch->leave(1);
  expect_scores(batch->step({.tokens = Ids{2, 0, 6}}), 2, {1, 2, 3, 4, 5, 6});
}

INSTANTIATE_TEST_SUITE_P(Cells, TextRnns, testing::Values("tanh", "gru", "lstm"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TextRnnConfigs, ComeBackAsTheyWere) {
  const TextRnnConfig config{
      .vocabulary = 30, .width = 8, .layers = 3, .cell = "gru", .end = 2, .labels = {"no", "yes"}};
  const Json json = models::text_rnn_json(config);
  EXPECT_EQ(models::text_rnn_json(models::text_rnn_config(json, "config.json")), json);
  EXPECT_EQ(catalogue::describe(json, "config.json").task, catalogue::Task::classify);
  TextRnnConfig plain = config;
  plain.labels.clear();
  const Json language = models::text_rnn_json(plain);
  EXPECT_EQ(catalogue::describe(language, "config.json").task, catalogue::Task::generate);
  EXPECT_EQ(catalogue::make_language_model(language, "config.json")->config(), language);
}

TEST(TextRnnConfigs, BadValuesAreNamed) {
  const auto said = [](const char* key, const Json& value) {
    Json json = models::text_rnn_json({.vocabulary = 30});
    json[key] = value;
    try {
      models::text_rnn_config(json, "config.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(said("cell", "elman"), "config.json: unknown cell 'elman'; there are tanh, gru and lstm");
  for (const auto& [key, value] : {std::pair<const char*, Json>{"vocabulary", 0},
                                   {"width", 0},
                                   {"layers", 0},
                                   {"max_length", 0},
                                   {"dropout", 1.5},
                                   {"pad_token_id", 30},
                                   {"width", "wide"}})
    EXPECT_NE(said(key, value).find(key), std::string::npos) << said(key, value);
}

}  // namespace
}  // namespace attend::test
