// Recurrent networks that read text (Mikolov et al. 2010): settings, forward pass, and the state of texts that grow.
#include "attend/models/text_rnn.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/models/rnn_cell.h"
#include "attend/models/rnn_text_decoder.h"
#include "attend/ops/activation.h"

namespace attend::models {

namespace {

constexpr const char* kTextRnnName = "text_rnn";

}  // namespace

void check_config(const TextRnnConfig& config, std::string_view what) {
  check_limited(what, "vocabulary", config.vocabulary, 1, limits::kLargestVocabulary);
  check_limited(what, "width", config.width, 1, limits::kWidestModel);
  check_limited(what, "layers", config.layers, 1, limits::kMostLayers);
  check_limited(what, "max_length", config.max_length, 1, limits::kMostPositions);
  check_rate(what, "dropout", config.dropout);
  check_token(what, "bos_token_id", config.start);
  check_token(what, "eos_token_id", config.end);
  check_within(what, "pad_token_id", config.pad, -1, config.vocabulary - 1);
  // Each of up to four gates reads the layer below and the state before.
  check_size(what, (config.vocabulary + config.layers * 4 * 2 * config.width) * config.width);
  rnn_cell(config.cell, what);
}

TextRnnConfig text_rnn_config(const Json& json, std::string_view what) {
  TextRnnConfig config;
  read_known_fields(config, json, what);
  if (architecture_of(json, what).ends_with("ForSequenceClassification")) config.labels = labels_of(json, what);
  check_config(config, what);
  return config;
}

Json text_rnn_json(const TextRnnConfig& config) {
  const bool classifier = !config.labels.empty();
  Json json = {{"model_type", kTextRnnName}, {"architectures", Json::array()}};
  json["architectures"].push_back(classifier ? "TextRnnForSequenceClassification" : "TextRnnLMHeadModel");
  json.update(write_fields(config));
  null_missing_tokens(json);
  if (classifier) write_labels(json, config.labels);
  return json;
}

TextRnn::TextRnn(const TextRnnConfig& config)
    : config_((check_config(config, kTextRnnName), config)), embedding_(config.vocabulary, config.width) {
  for (std::int64_t i = 0; i < config.layers; ++i)
    layers_.emplace_back(rnn_cell(config.cell, kTextRnnName), config.width, config.width);
}

TextRnn::State TextRnn::State::rows(const Tensor& from) const {
  State moved = *this;
  for (auto* list : {&moved.hidden, &moved.cell})
    for (Tensor& state : *list)
      if (state.defined()) state = ops::gather(state, from);
  return moved;
}

TextRnn::Result TextRnn::read(const nn::Sequences& texts, const State& before) const {
  check(!texts.packed() && texts.ids.rank() == 2 && texts.ids.dim(1) > 0, "text_rnn: texts must be padded, [B, T]");
  // Rows of the table have length about 1, as the output layer needs. Multiplied by √C, they enter with unit variance.
  const float scale = std::sqrt(static_cast<float>(config_.width));
  Result result{ops::dropout(embedding_(texts.ids, {.scale = scale}), config_.dropout), {}};  // [B, T, C]
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    ops::RecurrentOptions options{.lengths = texts.lengths};
    if (!before.hidden.empty()) options.hidden = before.hidden[i], options.cell = before.cell[i];
    const ops::RecurrentResult layer = layers_[i].run(layers_[i].gates(result.states), options);
    result.states = ops::dropout(layer.states, config_.dropout);                         // [B, T, C]
    result.last.hidden.push_back(layer.hidden), result.last.cell.push_back(layer.cell);  // [B, C]
  }
  return result;
}

LanguageModel::Facts RnnLanguageModel::facts() const {
  const TextRnnConfig& config = body_.config();
  return {.vocabulary = config.vocabulary,
          .max_length = config.max_length,
          .width = config.width,
          .layers = config.layers,
          .hidden = gates_of(rnn_cell(config.cell, kTextRnnName)) * config.width,
          .start = config.start,
          .end = config.end,
          .row_bytes = config.layers * config.width * 2 * 4};
}

Json RnnLanguageModel::config() const { return text_rnn_json(body_.config()); }

std::unique_ptr<nn::StepModel> RnnLanguageModel::start(Pass& pass, const Tensor& prompts, std::int64_t group,
                                                       std::int64_t) const {
  return std::make_unique<RnnTextDecoder>(body_, pass, prompts, group);
}

std::unique_ptr<nn::BatchModel> RnnLanguageModel::batch(Backend& backend, std::int64_t rows, std::int64_t,
                                                        const nn::PromptPieces&) const {
  return std::make_unique<RnnTextBatch>(body_, backend, rows);
}

RnnClassifier::RnnClassifier(const TextRnnConfig& config)
    : body_(config), score_(config.width, static_cast<std::int64_t>(config.labels.size())) {
  check(!config.labels.empty(), "text_rnn: a classifier needs labels");
}

Json RnnClassifier::config() const { return text_rnn_json(body_.config()); }

Tensor RnnClassifier::logits(const nn::Sequences& texts) const {
  // After its end a text repeats its last state, so that the final state is that of its last token.
  const Tensor last = body_.read(texts).last.hidden.back();   // [B, C]
  return score_(ops::dropout(last, body_.config().dropout));  // [B, labels]
}

}  // namespace attend::models
