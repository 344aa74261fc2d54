// Heads of BERT, RoBERTa and DistilBERT: the two pretraining tasks (Devlin et al. 2019, section 3.1) and the tasks they
// are fine-tuned on (section 4). Each class is a whole model whose parameters carry the names of its file.
//
//   states [B, T, C] -> token logits [B, T, V], class logits [B, labels], or span logits [2, B, T]
#pragma once

#include <string>
#include <vector>

#include "attend/models/bert.h"
#include "attend/nn/parameters.h"
#include "attend/ops/softmax.h"

namespace attend::models {

// Predicts the masked tokens (section 3.1, task 1): a dense layer, a norm, then the table of token embeddings and a
// bias.
class TokenPredictor {
 public:
  explicit TokenPredictor(const BertConfig& config);
  Tensor operator()(const Tensor& states, const nn::Embedding& tokens) const;  // [.., C] -> [.., V]
  ops::Loss loss(const Tensor& states, const nn::Embedding& tokens, const Tensor& labels) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    constexpr const char* kDense[] = {"cls.predictions.transform.dense",
                                      "lm_head.dense",
                                      "vocab_transform",
                                      "lm_head.dense",
                                      "lm_head.dense",
                                      "lm_head.dense"};
    constexpr const char* kNorm[] = {"cls.predictions.transform.LayerNorm",
                                     "lm_head.layer_norm",
                                     "vocab_layer_norm",
                                     "lm_head.layer_norm",
                                     "lm_head.layer_norm",
                                     "lm_head.layer_norm"};
    constexpr const char* kBias[] = {"cls.predictions.bias", "lm_head.bias", "vocab_projector.bias",
                                     "lm_head.bias",         "lm_head.bias", "lm_head.bias"};
    const auto family = static_cast<std::size_t>(family_);
    v(kDense[family], dense_), v(kNorm[family], norm_), v(kBias[family], bias_);
  }

 private:
  Tensor transformed(const Tensor& states) const { return norm_(dense_(states, activation_)); }

  BertFamily family_;
  nn::Linear dense_;
  nn::LayerNorm norm_;
  nn::Parameter bias_;
  Activation activation_;
};

// A body and the masked-token head: pretraining of RoBERTa, and of BERT without the second task.
class MaskedLanguageModel {
 public:
  explicit MaskedLanguageModel(const BertConfig& config) : body_(config, Bert::Pooler::without), predictor_(config) {}
  const Bert& body() const { return body_; }
  Json config() const;

  Tensor logits(const Tensor& states) const { return predictor_(states, body_.tokens()); }
  // labels are i32 [B, T], and -100 is ignored. With rows i32 [M], labels are [M] and only these rows are predicted.
  // This saves six sevenths of the output layer when one token in seven is masked.
  ops::Loss loss(const BertInput& input, const Tensor& labels, const Tensor& rows = {}) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v(prefix_of(body_.config().family), body_), predictor_.visit(v);
  }

 private:
  Bert body_;
  TokenPredictor predictor_;
};

// Both pretraining tasks of BERT: masked tokens, and whether the second sentence follows the first (label 0 means yes).
class BertPretraining {
 public:
  explicit BertPretraining(const BertConfig& config);
  const Bert& body() const { return body_; }
  Json config() const;

  Tensor token_logits(const Tensor& states) const { return predictor_(states, body_.tokens()); }
  Tensor next_sentence_logits(const Tensor& states, const nn::Sequences& texts) const {
    return next_sentence_(body_.pooled(states, texts));  // [B, 2]
  }
  struct Loss {
    Tensor sum = {};  // f32 [1]: the sum of both mean losses
    ops::Loss tokens = {}, next_sentence = {};
  };
  Loss loss(const BertInput& input, const Tensor& labels, const Tensor& next_sentence, const Tensor& rows = {}) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("bert", body_), predictor_.visit(v), v("cls.seq_relationship", next_sentence_);
  }

 private:
  Bert body_;
  TokenPredictor predictor_;
  nn::Linear next_sentence_;
};

// Task 2 of section 3.1 alone: whether the second sentence follows the first.
class NextSentenceModel {
 public:
  explicit NextSentenceModel(const BertConfig& config);
  const Bert& body() const { return body_; }
  Json config() const;

  Tensor logits(const Tensor& states, const nn::Sequences& texts) const {
    return next_sentence_(body_.pooled(states, texts));
  }
  ops::Loss loss(const BertInput& input, const Tensor& labels) const {
    return ops::cross_entropy(logits(body_.states(input), input.texts), labels);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("bert", body_), v("cls.seq_relationship", next_sentence_);
  }

 private:
  Bert body_;
  nn::Linear next_sentence_;
};

// Section 4.1: one label for a text or a pair of texts, or a number (config.regression).
class SequenceClassifier {
 public:
  explicit SequenceClassifier(const BertConfig& config);
  const Bert& body() const { return body_; }
  Json config() const;

  Tensor logits(const Tensor& states, const nn::Sequences& texts) const;  // [B, labels]
  // The mean cross entropy for labels i32 [B], or the mean squared error for numbers f32 [B].   -> f32 [1]
  // Texts after the first B have no label and are ignored.
  Tensor loss(const BertInput& input, const Tensor& labels) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    const BertFamily family = body_.config().family;
    v(prefix_of(family), body_);
    if (body_.config().counts_positions()) return v("classifier.dense", dense_), v("classifier.out_proj", output_);
    if (family == BertFamily::distilbert) v("pre_classifier", dense_);
    v("classifier", output_);
  }

 private:
  Bert body_;
  nn::Linear dense_, output_;  // BERT uses its pooler as the dense layer
};

// Section 5.3: a label for every token, such as named entities or parts of speech.
class TokenTagger {
 public:
  explicit TokenTagger(const BertConfig& config);
  const Bert& body() const { return body_; }
  Json config() const;

  Tensor logits(const Tensor& states) const;  // [.., C] -> [.., labels]
  ops::Loss loss(const BertInput& input, const Tensor& labels) const {
    return ops::cross_entropy(logits(body_.states(input)), labels);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v(prefix_of(body_.config().family), body_), v("classifier", output_);
  }

 private:
  Bert body_;
  nn::Linear output_;
};

// Section 4.2: the first and the last token of the answer inside a text.
class QuestionAnswerer {
 public:
  explicit QuestionAnswerer(const BertConfig& config);
  const Bert& body() const { return body_; }
  Json config() const;

  // Scores for padded texts, [2, B, T]: for every token, that the answer begins there, and that it ends there.
  Tensor logits(const Tensor& states) const;
  // positions i32 [2, B] hold the first and the last token of each answer. The loss is the mean over both.
  ops::Loss loss(const BertInput& input, const Tensor& positions) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v(prefix_of(body_.config().family), body_), v("qa_outputs", output_);
  }

 private:
  Bert body_;
  nn::Linear output_;
};

}  // namespace attend::models
