// The recurrent encoder-decoder that the Transformer replaced. With attention it is Bahdanau, Cho & Bengio 2015
// ("Neural Machine Translation by Jointly Learning to Align and Translate", section 3). Without attention it is Cho et
// al. 2014, where one vector carries everything the decoder learns about the source.
//
//   source [B, S] -> embed [B, S, W] -> bidirectional encoder [B, S, 2·H]
//   target [B, T] -> embed [B, T, W] -> decoder, which attends to the source -> readouts [B, T, W] -> logits [B, T, V]
//
// W is the width of an embedding, H that of a recurrent state; G·H are its gates: H for a tanh cell, 3·H for a GRU,
// 4·H for an LSTM.
//
// Differences from the papers: both sides and the output layer share one vocabulary. The readout is a tanh layer of
// embedding width instead of maxout. The decoder starts from the last states of both directions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/models/attention_settings.h"
#include "attend/models/seq2seq.h"
#include "attend/nn/layers.h"
#include "attend/nn/recurrent.h"

namespace attend::models {

struct RnnConfig {
  std::int64_t vocabulary = 0;
  std::int64_t width = 256, hidden = 512, layers = 1;
  float dropout = 0.2f;
  std::string cell = "gru";
  bool attention = true;
  std::int64_t max_length = 256;
  AttentionSettings score = {.attention_score = "additive"};

  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocabulary", vocabulary, "Number of tokens, shared by source and target.");
    v("width", width, "Embedding width.");
    v("hidden", hidden, "Width of the recurrent state, per direction.");
    v("layers", layers, "Number of encoder layers; the decoder has one.");
    v("dropout", dropout, "Dropout.");
    v("cell", cell, "Recurrent cell: tanh, gru or lstm.");
    v("attention", attention, "Attend to every source state instead of one summary vector.");
    v("max_length", max_length, "Maximum sentence length, in tokens.");
    score.visit(v);
  }
  // Removes settings from json that a file of Bahdanau's model does not need.
  void leave_out_of(Json& json) const { score.leave_out_of(json, {.attention_score = "additive"}); }
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const RnnConfig& config, std::string_view what);

// Section 3.1: before each step the decoder's state scores all encoder states; their weighted mean is the context.
class RnnDecoderLayer {
 public:
  explicit RnnDecoderLayer(const RnnConfig& config);

  // What the steps read of the sources, computed once. The context is a weighted mean of encoder states, and it enters
  // gates and readout linearly. So the states are projected here, and each step averages the projections. No step
  // multiplies by these weights, forward or backward.
  struct Memory {
    Tensor keys;     // U h in the paper, or what another score compares, [B, S, H]; undefined without attention
    Tensor gates;    // [B, S, G·H]; without attention [B, G·H], from the summary
    Tensor readout;  // [B, S, W]; without attention [B, W]
    Tensor lengths;  // i32 [B] or undefined
  };
  struct State {
    Tensor hidden, cell;  // [rows, H]; cell is for an LSTM only
  };
  Memory read(const Encoded& source) const;
  // The first state of `group` rows per source, from the source's summary.
  State start(const Encoded& source, std::int64_t group) const;

  // Teacher forcing: embedded [B, T, W] -> readouts [B, T, W]. A probe of the pass sees [B, 1, T, S].
  Tensor operator()(const Tensor& embedded, const Memory& memory, State state) const;
  // One position of each row: embedded [B, group, W] -> [B, group, W]; row b·group + g reads source b. A probe sees
  // [B·group, 1, 1, S].
  Tensor step(const Tensor& embedded, const Memory& memory, State& state) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    rnn_.visit([&](const std::string& name, nn::Parameter& parameter) { v("rnn." + name, parameter); }, "_l0");
    v("rnn.weight_ch_l0", context_gates_);
    v("initial_hidden", initial_hidden_);
    if (lstm_) v("initial_cell", initial_cell_);
    if (attention_) visit_attention(v);
    v("readout", readout_), v("readout_context.weight", context_readout_);
  }

 private:
  template <class Visitor>
  void visit_attention(Visitor&& v) {
    const nn::Score kind = comparison_.kind();
    if (kind == nn::Score::additive) v("attention.query.weight", query_);
    if (kind == nn::Score::additive || kind == nn::Score::general) v("attention.key", key_);
    if (kind == nn::Score::additive) v("attention.score.weight", score_);
    if (kind == nn::Score::cosine) v("attention", comparison_);
  }
  // Keys of the encoder states [B, S, 2·H], as the score compares them: [B, S, H].
  Tensor keys(const Tensor& states) const;
  // The attention weights of each row: softmax(v · tanh(W s + U h)), or of another score, [B, rows / B, S]; undefined
  // without attention.
  Tensor look(const State& state, const Memory& memory) const;
  // The weighted mean of the projected sources, [B, count, C].
  Tensor context(const Tensor& weights, const Tensor& projected, std::int64_t count) const;
  // One recurrent step of all rows, from gates of [rows, G·H].
  State advance(const Tensor& gates, const State& state) const;
  // The readout of state, embedding and context, [.., W].
  Tensor finish(const Tensor& states, const Tensor& embedded, const Tensor& context) const;

  bool attention_, lstm_;
  float dropout_;
  nn::RecurrentLayer rnn_;
  nn::Parameter context_gates_;  // [G·H, 2·H]: the part of the input weight that reads the context
  nn::Linear initial_hidden_, initial_cell_;
  nn::Parameter query_;  // W of the paper, [H, H]
  nn::Linear key_;       // U of the paper, 2·H -> H; with the general score its W
  nn::Parameter score_;  // v of the paper, [H]
  nn::AttentionScore comparison_;
  nn::Linear readout_;  // reads state and embedding: H + W -> W
  nn::Parameter context_readout_;
};

// The whole model: shared embeddings, encoder and decoder.
class RnnSeq2Seq : public Seq2Seq {
 public:
  static constexpr const char* kAttentionLabel = "decoder.attention";

  explicit RnnSeq2Seq(const RnnConfig& config);

  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::int64_t max_length() const override { return config_.max_length; }
  bool takes_packed() const override { return false; }
  Json config() const override;
  void place(Backend&, DType) override {}  // everything is trained, so there is nothing to place
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(*this); }
  Encoded encode(const nn::Sequences& source) const override;
  // Teacher forcing: readouts, [B, T, W].
  Tensor decode(const Encoded& memory, const nn::Sequences& target) const override;
  using Seq2Seq::decode;
  ops::Loss loss(const Tensor& readouts, const Tensor& labels, const Seq2SeqLossOptions& options) const override {
    return loss_of(readouts, embedding_, {}, labels, options);
  }
  using Seq2Seq::loss;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Encoded& memory, std::int64_t group) const override;
  using Seq2Seq::start;
  std::string alignment_label() const override { return config_.attention ? kAttentionLabel : ""; }

  // Parts of the model, for the decoder that runs step by step (rnn_decoder.h).
  Tensor embed(const Tensor& ids) const;  // [..] -> [.., W]
  const RnnDecoderLayer& decoder() const { return decoder_; }
  Tensor logits(const Tensor& readouts) const { return embedding_.logits(readouts); }  // [.., W] -> [.., V]

  template <class Visitor>
  void visit(Visitor&& v) {
    v("embedding", embedding_), v("encoder.rnn", encoder_), v("decoder", decoder_);
  }

 private:
  RnnConfig config_;
  nn::Embedding embedding_;
  nn::BidirectionalRnn encoder_;
  RnnDecoderLayer decoder_;
};

// Builds the model from what config() wrote, without its "model_type".
std::unique_ptr<Seq2Seq> make_rnn(const Json& config, std::string_view what);

}  // namespace attend::models
