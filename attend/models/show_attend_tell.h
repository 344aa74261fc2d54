// "Show, Attend and Tell: Neural Image Caption Generation with Visual Attention" (Xu et al. 2015), with soft attention
// (section 4.2). Before each word an LSTM attends to the regions of the image, scored by the small network of Bahdanau
// et al. 2015. A gate scales the result (section 4.2.1): one number, one per channel, or none. A penalty asks that a
// caption attends to all regions equally in total ("doubly stochastic attention", equation 14).
//
//   regions [B, S, C];   captions [B, T] -> words [B, T, W] -> LSTM with attention -> [B, T, H] -> logits [B, T, V]
//
// W is the width of an embedding, H that of the recurrent state, A that of the scoring network.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/models/captioner.h"
#include "attend/models/recurrent_steps.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameter.h"
#include "attend/nn/recurrent.h"

namespace attend::models {

struct ShowAttendTellConfig {
  std::int64_t vocabulary = 0, max_length = 40;
  std::int64_t width = 512, hidden = 512, attention = 256;
  std::string gate = "scalar";
  float regularizer = 1;
  float dropout = 0.3f;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocabulary", vocabulary, "how many tokens there are");
    v("max_length", max_length, "longest caption, in tokens, its start among them");
    v("width", width, "of an embedding");
    v("hidden", hidden, "width of the recurrent state");
    v("attention", attention, "width of the network that scores regions");
    v("gate", gate, "how much of what is seen counts: scalar, vector or none");
    v("regularizer", regularizer, "how much all regions shall be looked at alike: lambda of the paper");
    v("dropout", dropout, "of embeddings and of what the output layer reads");
  }
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const ShowAttendTellConfig& config, std::string_view what);

class ShowAttendTell : public CaptionDecoder {
 public:
  static constexpr const char* kAttentionLabel = "decoder.attention";

  // `regions` is the width of the encoder's regions.
  ShowAttendTell(const ShowAttendTellConfig& config, std::int64_t regions);

  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::int64_t max_length() const override { return config_.max_length; }
  Json settings() const override;
  std::vector<nn::Parameters::Entry> parameters() override;
  Tensor decode(const Tensor& regions, const nn::Sequences& captions) const override {
    return written(regions, captions).states;
  }
  Tensor logits(const Tensor& states) const override { return output_(states); }
  CaptionLoss loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const override;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& regions, std::int64_t group) const override;
  std::string attention_label() const override { return kAttentionLabel; }

  // What all steps read of the images, computed once.
  struct Memory {
    Tensor keys;     // [B, S, A]
    Tensor regions;  // [B, S, C]
    std::array<Tensor*, 2> parts() { return {&keys, &regions}; }
  };
  Memory read(const Tensor& regions) const;
  RecurrentState begin(const Tensor& regions) const;
  Tensor step(const Tensor& tokens, const Memory& memory, RecurrentState& state) const;

  struct Written {
    Tensor states;             // [B, T, H], for the output layer
    Tensor attention_weights;  // [B, T, S]: the weights of each word
  };
  Written written(const Tensor& regions, const nn::Sequences& captions) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("init_h", initial_hidden_), v("init_c", initial_cell_), v("embed", embedding_);
    v("att_a", key_), v("att_h.weight", query_), v("att_w.weight", score_);
    if (config_.gate != "none") v("gate", gate_);
    cell_.visit([&](const std::string& name, nn::Parameter& parameter) { v("cell." + name, parameter); }, "");
    v("out", output_);
  }

 private:
  Tensor look(const RecurrentState& state, const Memory& memory) const;  // [B, rows / B, S]
  // The gated context, [rows, C]: the weighted mean of the regions.
  Tensor context(const Tensor& weights, const RecurrentState& state, const Memory& memory) const;
  // One LSTM step from word [rows, W] and context [rows, C].
  RecurrentState advance(const Tensor& word, const Tensor& context, const RecurrentState& state) const;
  // Equation 14, [1]; counted f32 [B, T] is 0 over padding.
  Tensor doubly_stochastic_penalty(const Tensor& attention_weights, const Tensor& counted) const;

  ShowAttendTellConfig config_;
  nn::Linear initial_hidden_, initial_cell_;
  nn::Embedding embedding_;
  nn::Linear key_;
  nn::Parameter query_, score_;
  nn::Linear gate_;
  nn::RecurrentLayer cell_;
  nn::Linear output_;
};

}  // namespace attend::models
