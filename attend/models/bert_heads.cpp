// The heads of BERT and its family (Devlin et al. 2019, sections 3.1 and 4): states [B, T, C] in, logits or a loss out.
#include "attend/models/bert_heads.h"

#include "attend/base/error.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"

namespace attend::models {

namespace {

nn::LinearConfig linear(const BertConfig& config) {
  return {.init = nn::Init{nn::Init::normal, config.init_deviation}};
}

// transformers names a class for each family and task: "BertForMaskedLM", "RobertaForMaskedLM" and so on.
BertConfig config_for(BertConfig config, const char* task) {
  config.architecture = std::string(names_of(config.family).class_name) + "For" + task;
  return config;
}
Json json_of(const BertConfig& config, const char* task) { return bert_json(config_for(config, task)); }

std::int64_t labels_in(const BertConfig& config) {
  check(!config.labels.empty(), "{}: a classifier needs labels", name_of(config.family));
  return static_cast<std::int64_t>(config.labels.size());
}

const BertConfig& only_bert(const BertConfig& config) {
  check(config.family == BertFamily::bert, "{}: only bert is asked which sentence follows", name_of(config.family));
  return config;
}

// [.., C] -> [M, C], so that the output layer runs only where a token was masked.
Tensor chosen_rows(const Tensor& states, const Tensor& rows) {
  return rows.defined() ? ops::gather(states.flat_rows(), rows) : states;
}

}  // namespace

TokenPredictor::TokenPredictor(const BertConfig& config)
    : family_(config.family),
      dense_(config.width, config.width, linear(config)),
      norm_(config.width, config.norm_eps),
      bias_{{config.vocabulary}, {}},
      // RoBERTa's head always uses gelu, whatever the body's activation is.
      activation_(config.counts_positions() ? Activation::gelu
                                            : hugging_face_activation(config.activation, name_of(family_))) {}

Tensor TokenPredictor::operator()(const Tensor& states, const nn::Embedding& tokens) const {
  return tokens.logits(transformed(states), bias_);  // [.., V]
}

ops::Loss TokenPredictor::loss(const Tensor& states, const nn::Embedding& tokens, const Tensor& labels) const {
  return tokens.loss(transformed(states), bias_, labels);
}

Json MaskedLanguageModel::config() const { return json_of(body_.config(), "MaskedLM"); }

ops::Loss MaskedLanguageModel::loss(const BertInput& input, const Tensor& labels, const Tensor& rows) const {
  return predictor_.loss(chosen_rows(body_.states(input), rows), body_.tokens(), labels);
}

BertPretraining::BertPretraining(const BertConfig& config)
    : body_(only_bert(config), Bert::Pooler::with),
      predictor_(config),
      next_sentence_(config.width, 2, linear(config)) {}

Json BertPretraining::config() const { return json_of(body_.config(), "PreTraining"); }

BertPretraining::Loss BertPretraining::loss(const BertInput& input, const Tensor& labels, const Tensor& next_sentence,
                                            const Tensor& rows) const {
  const Tensor states = body_.states(input);  // [B, T, C]
  Loss loss{.tokens = predictor_.loss(chosen_rows(states, rows), body_.tokens(), labels),
            .next_sentence = ops::cross_entropy(next_sentence_logits(states, input.texts), next_sentence)};
  loss.sum = ops::add(loss.tokens.mean, loss.next_sentence.mean);
  return loss;
}

NextSentenceModel::NextSentenceModel(const BertConfig& config)
    : body_(only_bert(config), Bert::Pooler::with), next_sentence_(config.width, 2, linear(config)) {}

Json NextSentenceModel::config() const { return json_of(body_.config(), "NextSentencePrediction"); }

SequenceClassifier::SequenceClassifier(const BertConfig& config)
    : body_(config, config.family == BertFamily::bert ? Bert::Pooler::with : Bert::Pooler::without),
      dense_(config.width, config.width, linear(config)),
      output_(config.width, labels_in(config), linear(config)) {}

Json SequenceClassifier::config() const { return json_of(body_.config(), "SequenceClassification"); }

Tensor SequenceClassifier::logits(const Tensor& states, const nn::Sequences& texts) const {
  const BertConfig& config = body_.config();
  const float dropout = config.dropout_of_head();
  // Each family has its own order of dropout and dense layer; all end with [B, labels].
  if (config.family == BertFamily::bert) return output_(ops::dropout(body_.pooled(states, texts), dropout));
  const Tensor first = body_.first(states, texts);  // [B, C]
  if (config.family == BertFamily::distilbert) return output_(ops::dropout(dense_(first, Activation::relu), dropout));
  return output_(ops::dropout(dense_(ops::dropout(first, dropout), Activation::tanh), dropout));
}

Tensor SequenceClassifier::loss(const BertInput& input, const Tensor& labels) const {
  Tensor scores = logits(body_.states(input), input.texts);  // [B, labels]
  if (labels.size() < scores.dim(0)) scores = ops::slice(scores, 0, 0, labels.size());
  check(body_.config().problem != ProblemType::multi_label,
        "{}: a head for several labels of a text at once is run here, not trained", name_of(body_.config().family));
  if (!body_.config().regression()) return ops::cross_entropy(scores, labels).mean;
  // Regression: the mean of (score - label)², with one score per text.
  const Tensor distance = ops::add(ops::cast(scores, DType::f32).reshape({scores.rows()}), ops::scale(labels, -1));
  return ops::mean(ops::multiply(distance, distance), 0);  // [1]
}

TokenTagger::TokenTagger(const BertConfig& config)
    : body_(config, Bert::Pooler::without), output_(config.width, labels_in(config), linear(config)) {}

Json TokenTagger::config() const { return json_of(body_.config(), "TokenClassification"); }

Tensor TokenTagger::logits(const Tensor& states) const {
  const BertConfig& config = body_.config();
  return output_(ops::dropout(states, config.distilled() ? config.dropout : config.dropout_of_head()));
}

QuestionAnswerer::QuestionAnswerer(const BertConfig& config)
    : body_(config_for(config, "QuestionAnswering"), Bert::Pooler::without), output_(config.width, 2, linear(config)) {}

Json QuestionAnswerer::config() const { return json_of(body_.config(), "QuestionAnswering"); }

Tensor QuestionAnswerer::logits(const Tensor& states) const {
  check(states.rank() == 3, "{}: answers are looked for in padded texts, not {}", name_of(body_.config().family),
        states.shape());
  return ops::permute(output_(states), {2, 0, 1});  // [B, T, 2] -> [2, B, T]
}

ops::Loss QuestionAnswerer::loss(const BertInput& input, const Tensor& positions) const {
  return ops::cross_entropy(logits(body_.states(input)), positions);
}

}  // namespace attend::models
