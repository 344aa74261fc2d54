// The recurrent encoder-decoder, with and without attention, tanh, GRU and LSTM: against plain loops in double, one
// sentence at a time; step by step against all at once; and whether it learns.
#include "attend/models/rnn_seq2seq.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/decode/beam_search.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"
#include "tests/models/rnn_reference.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using models::PairBatch;
using models::RnnConfig;
using models::RnnSeq2Seq;
using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kIgnore = -1;

// These models are so small that handing work to a second thread costs more than doing it.
Backend& one_thread() {
  static const std::unique_ptr<Backend> kBackend = open_backend("cpu", {.threads = 1});
  return *kBackend;
}

Tensor ints(Backend& backend, const Shape& shape, const Ids& values) {
  Tensor tensor = make_tensor(backend, shape, DType::i32);
  upload(tensor, values);
  return tensor;
}

// Side by side, filled up with `padding`.
nn::Sequences padded(Backend& backend, const std::vector<Ids>& rows, std::int32_t padding) {
  std::size_t longest = 0;
  for (const Ids& row : rows) longest = std::max(longest, row.size());
  Ids all, lengths;
  for (const Ids& row : rows) {
    all.insert(all.end(), row.begin(), row.end());
    all.resize(all.size() + longest - row.size(), padding);
    lengths.push_back(static_cast<std::int32_t>(row.size()));
  }
  const auto batch = static_cast<std::int64_t>(rows.size());
  return {.ids = ints(backend, {batch, static_cast<std::int64_t>(longest)}, all),
          .lengths = ints(backend, {batch}, lengths)};
}

const std::vector<Ids> kSources = {{3, 1, 4, 1}, {5}, {9, 2, 6, 5, 3, 5}};
const std::vector<Ids> kTargets = {{1, 7, 2}, {1, 8, 8, 4, 6}, {1}};
const std::vector<Ids> kLabels = {{7, 2, 0}, {8, 8, 4, 6, 0}, {3}};

class RnnModel : public testing::TestWithParam<std::tuple<const char*, bool, const char*>> {
 protected:
  void SetUp() override {
    const auto& [cell, attention, device] = GetParam();
    config_ = {.vocabulary = 11,
               .width = 6,
               .hidden = 5,
               .layers = 2,
               .dropout = 0.5f,
               .cell = cell,
               .attention = attention,
               .max_length = 20};
    const bool wants_cuda = std::string(device) == "cuda";
    if (wants_cuda && !cuda()) GTEST_SKIP() << (built_with_cuda() ? "there is no GPU" : "this build has no CUDA");
    backend_ = wants_cuda ? cuda() : &one_thread();
  }
  Backend& backend() { return *backend_; }

  // Every parameter is away from its start of zero, so that none can be missed.
  nn::Parameters weights(RnnSeq2Seq& model, const nn::ParametersOptions& options = {}) {
    nn::Parameters parameters(backend(), model, options);
    std::mt19937 random(7);
    for (const auto& entry : parameters.entries()) {
      std::vector<float> values(static_cast<std::size_t>(entry.parameter->shape.size()));
      for (float& value : values) value = std::uniform_real_distribution<float>(-0.6f, 0.6f)(random);
      parameters.write(entry, values);
    }
    return parameters;
  }

  // The three sentences above, their loss, and then their gradients in `parameters`.
  double train_on_sentences(const RnnSeq2Seq& model, nn::Parameters& parameters, float smoothing = 0,
                            std::uint64_t seed = 1) {
    const PairBatch batch{padded(backend(), kSources, 0), padded(backend(), kTargets, 0),
                          padded(backend(), kLabels, kIgnore).ids};
    Pass pass(backend(), {.recording = true});
    pass.begin({.seed = seed});
    parameters.start_gradients();
    const ops::Loss loss = model.loss(batch.in(pass), {.smoothing = smoothing, .ignore = kIgnore});
    EXPECT_EQ(download(loss.total)[1], 9.0f);
    pass.backward(loss.mean);
    parameters.finish_gradients();
    return download(loss.mean)[0];
  }

  RnnConfig config_;

 private:
  Backend* backend_ = nullptr;
};

struct Seen final : Probe {
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> weights;
  void attention(std::string_view label, const Tensor& tensor) override {
    EXPECT_EQ(label, "decoder.attention");
    EXPECT_EQ(tensor.dtype(), DType::f32);
    shapes.push_back(tensor.shape());
    weights.push_back(download(tensor));
  }
};

// A sentence in a batch gives what it gives alone: the reference knows no padding.
TEST_P(RnnModel, LogitsAndWeightsAreThoseOfPlainLoops) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    RnnSeq2Seq model(config_);
    const nn::Parameters parameters = weights(model, {.dtype = dtype});
    const RnnReference reference(config_, parameters);
    const double tolerance = dtype == DType::f32 ? 2e-5 : 0.1;
    for (const std::int32_t padding : {0, 10}) {
      Seen seen;
      Pass pass(backend(), {.probe = &seen});
      const nn::Sequences source = padded(backend(), kSources, padding), target = padded(backend(), kTargets, padding);
      const Tensor logits = model.logits(model.decode(source.in(pass), target.in(pass)));
      ASSERT_EQ(logits.shape(), (Shape{3, 5, 11}));
      ASSERT_EQ(seen.shapes.size(), config_.attention ? 1u : 0u);
      if (config_.attention) {
        ASSERT_EQ(seen.shapes[0], (Shape{3, 1, 5, 6}));
      }
      const std::vector<float> values = download(logits);
      for (std::size_t b = 0; b < kSources.size(); ++b) {
        const auto expected = reference.run(kSources[b], kTargets[b]);
        for (std::size_t t = 0; t < kTargets[b].size(); ++t) {
          for (std::size_t v = 0; v < 11; ++v)
            ASSERT_NEAR(values[(b * 5 + t) * 11 + v], expected.logits[t][v], tolerance) << b << " " << t << " " << v;
          for (std::size_t s = 0; config_.attention && s < 6; ++s) {
            const double weight = s < kSources[b].size() ? expected.weights[t][s] : 0;
            ASSERT_NEAR(seen.weights[0][(b * 5 + t) * 6 + s], weight, tolerance) << b << " " << t << " " << s;
          }
        }
      }
    }
  }
}

// Two hypotheses per source; after two steps they change places and the source in the middle leaves.
TEST_P(RnnModel, StepByStepGivesWhatTeacherForcingGives) {
  RnnSeq2Seq model(config_);
  const nn::Parameters parameters = weights(model, {.trained = false});
  const std::vector<std::vector<Ids>> hypotheses = {{{1, 2, 3, 4}, {1, 5, 6, 7}, {1, 9, 9, 8}},
                                                    {{1, 8, 0, 2}, {1, 1, 2, 3}, {1, 4, 7, 10}}};
  const nn::Sequences source = padded(backend(), kSources, 0);
  std::vector<std::vector<float>> all;
  for (const auto& targets : hypotheses) {
    Pass pass(backend());
    all.push_back(download(model.logits(model.decode(source.in(pass), padded(backend(), targets, 0).in(pass)))));
  }
  struct Row {
    std::size_t source, hypothesis;
  };
  std::vector<Row> rows = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}};
  Seen seen;
  Pass pass(backend(), {.probe = &seen});
  const auto decoder = model.start(pass, source, 2);
  EXPECT_EQ(decoder->vocabulary(), 11);
  for (std::size_t t = 0; t < 4; ++t) {
    if (t == 2) {
      decoder->reorder(Ids{1, 0, 5, 4});
      rows = {{0, 1}, {0, 0}, {2, 1}, {2, 0}};
    }
    if (t == 3) {
      decoder->reorder(Ids{0, 0, 3, 2});
      rows = {{0, 1}, {0, 1}, {2, 0}, {2, 1}};
    }
    Ids tokens;
    for (const Row& row : rows) tokens.push_back(hypotheses[row.hypothesis][row.source][t]);
    const nn::StepModel::Scores scores = decoder->step(tokens);
    const std::span<const float> logits = scores.logits, log_sums = scores.log_sums;
    ASSERT_EQ(logits.size(), rows.size() * 11);
    ASSERT_EQ(log_sums.size(), rows.size());
    if (config_.attention) {
      ASSERT_EQ(seen.shapes.back(), (Shape{static_cast<std::int64_t>(rows.size()), 1, 1, 6}));
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      double total = 0;
      for (std::size_t v = 0; v < 11; ++v) {
        ASSERT_NEAR(logits[r * 11 + v], all[rows[r].hypothesis][(rows[r].source * 4 + t) * 11 + v], 1e-5) << t;
        total += std::exp(static_cast<double>(logits[r * 11 + v]));
      }
      EXPECT_NEAR(log_sums[r], std::log(total), 1e-5);
    }
  }
  EXPECT_THROW(decoder->step(Ids{1}), Error);
  EXPECT_THROW(decoder->reorder(Ids{1}), Error);
  EXPECT_THROW(decoder->reorder(Ids{0, 4}), Error);
}

// The smoothed loss of the batch, in double.
double loss_of(const RnnReference& reference, double smoothing) {
  double total = 0, count = 0;
  for (std::size_t b = 0; b < kSources.size(); ++b) {
    const auto output = reference.run(kSources[b], kTargets[b]);
    for (std::size_t t = 0; t < kTargets[b].size(); ++t, ++count) {
      double sum = 0;
      for (double logit : output.logits[t]) sum += std::exp(logit);
      for (std::size_t v = 0; v < output.logits[t].size(); ++v) {
        const double wanted = smoothing / 11 + (static_cast<std::int32_t>(v) == kLabels[b][t] ? 1 - smoothing : 0);
        total -= wanted * (output.logits[t][v] - std::log(sum));
      }
    }
  }
  return total / count;
}

// bf16 goes the same way as f32, from the same weights.
TEST_P(RnnModel, GradientsInHalfPrecisionPointTheSameWay) {
  config_.dropout = 0;
  std::vector<std::vector<float>> gradients;
  for (DType dtype : {DType::f32, DType::bf16}) {
    RnnSeq2Seq model(config_);
    nn::Parameters parameters = weights(model, {.dtype = dtype});
    train_on_sentences(model, parameters);
    gradients.push_back(download(parameters.gradient()));
  }
  double product = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    const double a = gradients[0][i], b = gradients[1][i];
    product += a * b, first += a * a, second += b * b;
  }
  EXPECT_GT(product / std::sqrt(first * second), 0.995);
  EXPECT_NEAR(std::sqrt(second / first), 1, 0.05);
}

TEST_P(RnnModel, GradientsAreTheDifferencesOfPlainLoops) {
  config_.dropout = 0;
  RnnSeq2Seq model(config_);
  nn::Parameters parameters = weights(model);
  RnnReference reference(config_, parameters);
  EXPECT_NEAR(train_on_sentences(model, parameters, 0.1f), loss_of(reference, 0.1), 1e-5);
  const std::vector<float> gradient = download(parameters.gradient());
  for (const auto& entry : parameters.entries()) {
    std::vector<double>& values = reference.weights.at(entry.name);
    for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 5) {
      const double before = values[i], step = 1e-4;
      values[i] = before + step;
      const double above = loss_of(reference, 0.1);
      values[i] = before - step;
      const double below = loss_of(reference, 0.1);
      values[i] = before;
      EXPECT_NEAR(gradient[static_cast<std::size_t>(entry.offset) + i], (above - below) / (2 * step), 5e-6)
          << entry.name << " " << i;
    }
  }
}

// Three to five digits, and the same from the back.
struct Reversals {
  static constexpr std::int64_t kRows = 32;
  static constexpr std::int32_t kStart = 10, kEnd = 11;
  PairBatch batch;
  std::mt19937 random{3};

  explicit Reversals(Backend& backend)
      : batch{
            {.ids = make_tensor(backend, {kRows, 5}, DType::i32), .lengths = make_tensor(backend, {kRows}, DType::i32)},
            {.ids = make_tensor(backend, {kRows, 6}, DType::i32)},
            make_tensor(backend, {kRows, 6}, DType::i32)} {}

  void draw() {
    Ids source(kRows * 5, 0), lengths, target(kRows * 6, 0), labels(kRows * 6, kIgnore);
    for (std::size_t row = 0; row < static_cast<std::size_t>(kRows); ++row) {
      const std::size_t length = 3 + random() % 3;
      lengths.push_back(static_cast<std::int32_t>(length));
      for (std::size_t i = 0; i < length; ++i) source[row * 5 + i] = static_cast<std::int32_t>(random() % 10);
      target[row * 6] = kStart, labels[row * 6 + length] = kEnd;
      for (std::size_t i = 0; i < length; ++i)
        target[row * 6 + 1 + i] = labels[row * 6 + i] = source[row * 5 + length - 1 - i];
    }
    upload(batch.source.ids, source), upload(batch.source.lengths, lengths);
    upload(batch.target.ids, target), upload(batch.labels, labels);
  }
};

// Where the device has graphs, all but the first steps are one replayed graph.
TEST_P(RnnModel, LearnsToReverse) {
  config_.vocabulary = 12, config_.width = 32, config_.hidden = 32, config_.layers = 1, config_.dropout = 0;
  RnnSeq2Seq model(config_);
  nn::Parameters parameters(backend(), model, {});
  train::Optimizer optimizer(parameters, {.clip_norm = 1});
  Pass pass(backend(), {.recording = true});
  StepGraph graph(pass);
  Reversals task(backend());
  const Tensor mean = make_tensor(backend(), {1}, DType::f32);
  const int steps = 600;
  for (int step = 1; step <= steps; ++step) {
    task.draw();
    optimizer.set_rate(1e-2f * (1 - static_cast<float>(step) / steps), step);
    graph.run(0, static_cast<std::uint64_t>(step), [&] {
      parameters.start_gradients();
      const Tensor loss = model.loss(task.batch.in(pass), {.ignore = kIgnore}).mean;
      backend().scale(loss, 1, {mean});
      pass.backward(loss);
      parameters.finish_gradients();
      optimizer.update();
    });
  }
  EXPECT_LT(download(mean)[0], 0.2f);  // ln 10 = 2.3 knows nothing

  const std::vector<Ids> questions = {{3, 1, 4, 1, 5}, {9, 2, 6}, {0, 0, 7, 8}};
  Pass reading(backend());
  const auto decoder = model.start(reading, padded(backend(), questions, 0), 2);
  const auto answers = decode::beam_search(
      *decoder, {.beams = 2, .start = Reversals::kStart, .end = Reversals::kEnd, .max_lengths = {7, 7, 7}});
  for (std::size_t i = 0; i < questions.size(); ++i)
    EXPECT_EQ(answers[i][0].tokens, Ids(questions[i].rbegin(), questions[i].rend()));
}

// The same numbers from a second run, dropout included; another seed gives others.
TEST_P(RnnModel, DropoutFollowsTheSeed) {
  RnnSeq2Seq model(config_);
  nn::Parameters parameters = weights(model);
  std::vector<std::vector<float>> gradients;
  for (const std::uint64_t seed : {1, 1, 2}) {
    train_on_sentences(model, parameters, 0, seed);
    gradients.push_back(download(parameters.gradient()));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_NE(gradients[0], gradients[2]);
}

INSTANTIATE_TEST_SUITE_P(All, RnnModel,
                         testing::Combine(testing::Values("tanh", "gru", "lstm"), testing::Bool(), every_device()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_attention_" : "_summary_") + std::get<2>(info.param);
                         });

TEST(RnnConfigs, ComeBackAsTheyWere) {
  const RnnConfig config{.vocabulary = 30, .hidden = 16, .layers = 3, .cell = "lstm", .attention = false};
  Json json = RnnSeq2Seq(config).config();
  EXPECT_EQ(json.name_of(json.begin()), "model_type");
  EXPECT_EQ(json["model_type"], "rnn");
  EXPECT_EQ(catalogue::make_seq2seq(json, "config.json")->config(), json);
  EXPECT_EQ(RnnSeq2Seq(config).alignment_label(), "");
}

TEST(RnnConfigs, NameParametersAsTorchDoes) {
  RnnSeq2Seq model({.vocabulary = 30, .width = 7, .hidden = 16, .layers = 2, .cell = "lstm"});
  std::map<std::string, Shape> shapes;
  for (const auto& entry : model.parameters()) shapes.emplace(entry.name, entry.parameter->shape);
  EXPECT_EQ(shapes.at("embedding.weight"), (Shape{30, 7}));
  EXPECT_EQ(shapes.at("encoder.rnn.weight_ih_l0"), (Shape{64, 7}));
  EXPECT_EQ(shapes.at("encoder.rnn.weight_hh_l1_reverse"), (Shape{64, 16}));
  EXPECT_EQ(shapes.at("encoder.rnn.weight_ih_l1_reverse"), (Shape{64, 32}));
  EXPECT_EQ(shapes.at("decoder.rnn.weight_ch_l0"), (Shape{64, 32}));
  EXPECT_EQ(shapes.at("decoder.attention.score.weight"), (Shape{16}));
  EXPECT_EQ(shapes.size(), model.parameters().size());
}

void expect_refused(const Json& config, const std::string& message) {
  try {
    models::make_rnn(config, "config.json");
    ADD_FAILURE() << "no error for " << config.dump();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).rfind("config.json: ", 0), 0u) << error.what();
  }
}

TEST(RnnConfigs, AreRefusedByName) {
  expect_refused(Json::object(), "vocabulary must be 1 to");
  expect_refused({{"vocabulary", -3}}, "not -3");
  expect_refused({{"vocabulary", 9}, {"hidden", 0}}, "hidden must be 1 to 65536, not 0");
  expect_refused({{"vocabulary", 9}, {"width", 0}}, "width must be");
  expect_refused({{"vocabulary", 9}, {"layers", 0}}, "layers must be 1 to");
  expect_refused({{"vocabulary", 9}, {"max_length", 0}}, "max_length must be");
  expect_refused({{"vocabulary", 9}, {"dropout", 1}}, "dropout must be");
  expect_refused({{"vocabulary", 9}, {"cell", "GRU"}}, "unknown cell 'GRU'");
  expect_refused({{"vocabulary", 9}, {"atention", true}}, "did you mean 'attention'");
  expect_refused({{"vocabulary", 9}, {"attention", 1}}, "'attention' must be true or false");
  expect_refused({{"vocabulary", "9"}}, "'vocabulary' must be a whole number");
}

TEST(RnnBatches, MustBePadded) {
  RnnSeq2Seq model({.vocabulary = 11, .width = 6, .hidden = 5});
  const nn::Parameters parameters(cpu(), model);
  const nn::Sequences good = padded(cpu(), kSources, 0);
  nn::Sequences packed = good;
  packed.offsets = ints(cpu(), {4}, {0, 4, 5, 11});
  Pass pass(cpu()), recording(cpu(), {.recording = true});
  EXPECT_FALSE(model.takes_packed());
  EXPECT_THROW(model.decode(packed.in(pass), good.in(pass)), Error);
  EXPECT_THROW(model.decode(good.in(pass), packed.in(pass)), Error);
  EXPECT_THROW(model.decode(good.in(pass), padded(cpu(), {{1, 2}}, 0).in(pass)), Error);
  EXPECT_THROW(model.start(recording, good, 1), Error);
}

}  // namespace
}  // namespace attend::test
