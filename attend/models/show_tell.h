// "Show and Tell: A Neural Image Caption Generator" (Vinyals et al. 2015, section 3.1): an LSTM reads the image once,
// as its first input, and must remember it. It has no attention and is the baseline for show_attend_tell.h.
//
//   regions [B, S, C] -> mean -> [B, 1, W];   captions [B, T] -> [B, T, W];   LSTM -> states [B, T, H] -> [B, T, V]
//
// W is the width of an embedding, H that of the recurrent state.
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
#include "attend/nn/recurrent.h"

namespace attend::models {

struct ShowTellConfig {
  std::int64_t vocabulary = 0, max_length = 40;
  std::int64_t width = 512, hidden = 512;
  float dropout = 0.3f;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocabulary", vocabulary, "how many tokens there are");
    v("max_length", max_length, "longest caption, in tokens, its start among them");
    v("width", width, "of an embedding");
    v("hidden", hidden, "width of the recurrent state");
    v("dropout", dropout, "of embeddings and of what the output layer reads");
  }
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const ShowTellConfig& config, std::string_view what);

class ShowTell : public CaptionDecoder {
 public:
  // `regions` is the width of the encoder's regions.
  ShowTell(const ShowTellConfig& config, std::int64_t regions);

  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::int64_t max_length() const override { return config_.max_length; }
  Json settings() const override;
  std::vector<nn::Parameters::Entry> parameters() override;
  Tensor decode(const Tensor& regions, const nn::Sequences& captions) const override;
  Tensor logits(const Tensor& states) const override { return output_(states); }
  CaptionLoss loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const override;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& regions, std::int64_t group) const override;
  std::string attention_label() const override { return ""; }
  Tensor summary(const Tensor& regions) const override { return see(regions); }

  // The state after reading the image, before the first word: [B, H].
  RecurrentState begin(const Tensor& regions) const;
  struct Memory {
    std::array<Tensor*, 0> parts() { return {}; }
  };
  Tensor step(const Tensor& tokens, const Memory& memory, RecurrentState& state) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("image", image_), v("embed", embedding_);
    cell_.visit([&](const std::string& name, nn::Parameter& parameter) { v("cell." + name, parameter); }, "");
    v("out", output_);
  }

 private:
  Tensor see(const Tensor& regions) const;  // [B, 1, W]: the image in the space of words

  ShowTellConfig config_;
  nn::Linear image_;
  nn::Embedding embedding_;
  nn::RecurrentLayer cell_;
  nn::Linear output_;
};

}  // namespace attend::models
