// Recurrent networks that read text: the language model of Mikolov et al. 2010 ("Recurrent neural network based
// language model") and a classifier, with a tanh cell (Elman 1990), a GRU (Cho et al. 2014) or an LSTM (Hochreiter &
// Schmidhuber 1997). All that the network knows of a text is the state after the newest token.
//
//   ids [B, T] -> embed [B, T, C] -> L recurrent layers -> states [B, T, C] -> logits [B, T, V]
//                                                          last state [B, C] -> logits [B, labels]
//
// The output layer of the language model shares the table of embeddings (Press & Wolf 2017).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/language_model.h"
#include "attend/nn/layers.h"
#include "attend/nn/recurrent.h"

namespace attend::models {

struct TextRnnConfig {
  std::int64_t vocabulary = 0, width = 256, layers = 1;
  std::string cell = "lstm";
  float dropout = 0.2f;
  std::int64_t max_length = 4096;               // bounds memory; no weight depends on it
  std::int64_t start = -1, end = -1, pad = -1;  // token ids; -1 means none
  std::vector<std::string> labels = {};         // names of a classifier's classes; empty for a language model

  // Field names follow config.json.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocabulary", vocabulary, "Number of tokens.");
    v("width", width, "Width of embeddings and states.");
    v("layers", layers, "Number of recurrent layers.");
    v("cell", cell, "Recurrent cell: tanh, gru or lstm.");
    v("dropout", dropout, "Dropout on embeddings and on the states of each layer.");
    v("max_length", max_length, "Maximum text length, in tokens.");
    v("bos_token_id", start, "Token that begins a text.");
    v("eos_token_id", end, "Token that ends a text.");
    v("pad_token_id", pad, "Token that fills short texts.");
  }
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const TextRnnConfig& config, std::string_view what);

// From a config.json whose model_type is "text_rnn", and back.
TextRnnConfig text_rnn_config(const Json& config, std::string_view what);
Json text_rnn_json(const TextRnnConfig& config);

// The body that the language model and the classifier share.
class TextRnn {
 public:
  explicit TextRnn(const TextRnnConfig& config);
  const TextRnnConfig& config() const { return config_; }

  // What is left of a text after its last token, per layer [B, C]; cell is for an LSTM only.
  struct State {
    std::vector<Tensor> hidden, cell;
    // Row i continues from the state of row from[i]; i32 [rows].
    State rows(const Tensor& from) const;
  };
  struct Result {
    Tensor states;  // [B, T, C] of the last layer
    State last;
  };
  // texts are padded; `before` is the state to continue from, and undefined means zeros.
  Result read(const nn::Sequences& texts, const State& before = {}) const;
  Tensor logits(const Tensor& states) const { return embedding_.logits(states); }  // [.., C] -> [.., V]
  ops::Loss loss(const Tensor& states, const Tensor& labels) const { return embedding_.loss(states, {}, labels, {}); }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("embedding", embedding_);
    for (std::size_t i = 0; i < layers_.size(); ++i)
      layers_[i].visit([&](const std::string& name, nn::Parameter& parameter) { v("rnn." + name, parameter); },
                       "_l" + std::to_string(i));
  }

 private:
  TextRnnConfig config_;
  nn::Embedding embedding_;
  std::vector<nn::RecurrentLayer> layers_;
};

class RnnLanguageModel : public LanguageModel {
 public:
  explicit RnnLanguageModel(const TextRnnConfig& config) : body_(config) {}
  const TextRnn& body() const { return body_; }

  Facts facts() const override;
  Json config() const override;
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(body_); }
  Tensor states(const nn::Sequences& texts) const override { return body_.read(texts).states; }
  Tensor logits(const nn::Sequences& texts) const override { return body_.logits(states(texts)); }
  ops::Loss loss(const nn::Sequences& texts, const Tensor& labels) const override {
    return body_.loss(states(texts), labels);
  }
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& prompts, std::int64_t group,
                                       std::int64_t tokens) const override;
  std::unique_ptr<nn::BatchModel> batch(Backend& backend, std::int64_t rows, std::int64_t room,
                                        const nn::PromptPieces& pieces = {}) const override;

 private:
  TextRnn body_;
};

// Predicts one label for a text from the state after its last token.
class RnnClassifier {
 public:
  explicit RnnClassifier(const TextRnnConfig& config);
  const TextRnn& body() const { return body_; }
  Json config() const;

  Tensor logits(const nn::Sequences& texts) const;  // [B, T] with lengths -> [B, labels]
  ops::Loss loss(const nn::Sequences& texts, const Tensor& labels) const {
    return ops::cross_entropy(logits(texts), labels);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    body_.visit(v);
    v("score", score_);
  }

 private:
  TextRnn body_;
  nn::Linear score_;
};

}  // namespace attend::models
