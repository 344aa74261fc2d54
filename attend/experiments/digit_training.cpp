#include "attend/experiments/digit_training.h"

#include <algorithm>
#include <memory>

#include "attend/base/error.h"
#include "attend/experiments/digit_task.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/models/transformer.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/backend.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

namespace {

constexpr const char* kWhat = "experiment";

Tensor ints(Backend& backend, const Shape& shape) { return make_tensor(backend, shape, DType::i32); }

// Greedy decoding of all rows at once, each until its end.
double share_right(const models::Seq2Seq& model, Backend& backend, const DigitTraining& training) {
  const DigitBatchOptions fresh{.rows = training.tested,
                                .min_length = training.min_length,
                                .max_length = training.max_length,
                                .seed = training.seed + 1};
  const DigitBatch batch = make_digit_batch(fresh, 0);
  const nn::Sequences source{.ids = ints(backend, {fresh.rows, fresh.max_length}),
                             .lengths = ints(backend, {fresh.rows})};
  upload(source.ids, batch.source), upload(source.lengths, batch.source_lengths);
  Pass pass(backend);
  const auto decoder = model.start(pass, source, 1);
  const auto rows = static_cast<std::size_t>(fresh.rows), width = static_cast<std::size_t>(fresh.max_length + 1);
  std::vector<std::int32_t> newest(rows, kStartId);
  std::vector<bool> right(rows, true);
  for (std::size_t t = 0; t < width; ++t) {
    const nn::StepModel::Scores scores = decoder->step(newest, 1);
    for (std::size_t row = 0; row < rows; ++row) {
      newest[row] = scores.ids[row];
      const std::int32_t expected = batch.target_out[row * width + t];
      if (expected != kIgnoreId && newest[row] != expected) right[row] = false;
    }
  }
  return static_cast<double>(std::count(right.begin(), right.end(), true)) / static_cast<double>(rows);
}

models::TransformerConfig transformer(std::int64_t width, std::int64_t heads, const DigitTraining& training) {
  return {.vocabulary = kDigitVocabulary,
          .width = width,
          .heads = heads,
          .hidden = 2 * width,
          .encoder_layers = 1,
          .decoder_layers = 1,
          .max_length = training.max_length + 2,
          .dropout = 0,
          .pre_norm = true};
}

std::unique_ptr<models::Seq2Seq> made(const std::string& model, const std::string& score,
                                      const DigitTraining& training) {
  if (model == "transformer") {
    models::TransformerConfig config = transformer(64, 2, training);
    config.attention.attention_score = score;
    return std::make_unique<models::Transformer>(config);
  }
  check(model == "rnn", "{}: unknown model '{}'; there are transformer and rnn", kWhat, model);
  models::RnnConfig config{.vocabulary = kDigitVocabulary, .width = 32, .hidden = 64, .dropout = 0};
  config.score.attention_score = score;
  return std::make_unique<models::RnnSeq2Seq>(config);
}

}  // namespace

DigitResult train_on_digits(models::Seq2Seq& model, Backend& backend, const DigitTraining& training) {
  check(training.min_length >= 1 && training.max_length >= training.min_length && training.max_length <= 64,
        "{}: strings of 1 to 64 digits, not of {} to {}", kWhat, training.min_length, training.max_length);
  check(training.rows >= 1 && training.tested >= 1, "{}: a batch and a test need strings", kWhat);
  nn::Parameters parameters(backend, model.parameters(), {.seed = training.seed});
  model.place(backend, DType::f32);
  const std::int64_t rows = training.rows, read = training.max_length, written = read + 1;
  const models::PairBatch outside{{ints(backend, {rows, read}), ints(backend, {rows})},
                                  {ints(backend, {rows, written})},
                                  ints(backend, {rows, written})};
  const DigitBatchOptions batches{
      .rows = rows, .min_length = training.min_length, .max_length = training.max_length, .seed = training.seed};
  const LearnTask task{.load =
                           [&](std::int64_t step) {
                             const DigitBatch batch = make_digit_batch(batches, static_cast<std::uint32_t>(step));
                             upload(outside.source.ids, batch.source);
                             upload(outside.source.lengths, batch.source_lengths);
                             upload(outside.target.ids, batch.target_in), upload(outside.labels, batch.target_out);
                           },
                       .loss = [&](Pass& pass) { return model.loss(outside.in(pass), {.ignore = kIgnoreId}).mean; }};
  DigitResult result{.parameters = static_cast<std::int64_t>(parameters.count())};
  result.curve = learn(parameters, backend, task, training.learn);
  result.right = share_right(model, backend, training);
  return result;
}

std::vector<DigitResult> run_scores(const ScoreOptions& options, Backend& backend) {
  for (const std::string& score : options.scores) nn::score_named(score, kWhat);
  std::vector<DigitResult> results;
  std::int64_t before = 0;
  for (const std::string& name : options.models)
    for (const std::string& score : options.scores) {
      const auto model = made(name, score, options.training);
      DigitTraining training = options.training;
      if (const auto report = training.learn.on_step)
        training.learn.on_step = [report, before](std::int64_t step) { report(before + step); };
      results.push_back(train_on_digits(*model, backend, training));
      results.back().model = name, results.back().score = score;
      before += training.learn.steps;
    }
  return results;
}

view::Figure scores_figure(const std::vector<DigitResult>& results) {
  std::vector<view::Figure> figures;
  for (std::size_t i = 0; i < results.size();) {
    const std::string& model = results[i].model;
    std::vector<NamedCurve> curves;
    for (; i < results.size() && results[i].model == model; ++i) curves.push_back({results[i].score, results[i].curve});
    figures.push_back(curves_figure(model == "rnn" ? "RNN" : "Transformer", curves));
  }
  return view::stacked(figures);
}

std::vector<DigitResult> train_scaling(const ScalingTraining& options, Backend& backend) {
  check(options.width >= 8 && options.width <= 256 && options.width % 8 == 0 &&
            (options.width <= 128 || options.width == 256),
        "{}: d must be a multiple of 8 up to 128, or 256, not {}", kWhat, options.width);
  std::vector<DigitResult> results;
  std::int64_t before = 0;
  for (const char* scale : {"sqrt", "none"}) {
    models::TransformerConfig config = transformer(options.width, 1, options.training);
    config.attention.attention_scale = scale;
    models::Transformer model(config);
    DigitTraining training = options.training;
    if (const auto report = training.learn.on_step)
      training.learn.on_step = [report, before](std::int64_t step) { report(before + step); };
    results.push_back(train_on_digits(model, backend, training));
    results.back().model = "transformer";
    results.back().score = std::string(scale) == "sqrt" ? "divided by √d" : "not divided";
    before += training.learn.steps;
  }
  return results;
}

view::Figure scaling_training_figure(const std::vector<DigitResult>& results) {
  std::vector<NamedCurve> curves;
  for (const DigitResult& result : results) curves.push_back({result.score, result.curve});
  return curves_figure("A Transformer that learns to reverse digits", curves);
}

}  // namespace attend::experiments
