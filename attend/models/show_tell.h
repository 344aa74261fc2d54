// "Show and Tell: A Neural Image Caption Generator" (Vinyals et al. 2015): an LSTM that sees the image once, as if it
// were the first word, and has to remember it. Without attention: what show_attend_tell.h is measured against.
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
  // regions: their width.
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

  // What it knows before the first word.
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
  Tensor see(const Tensor& regions) const;  // [B, 1, W]: the image as a word

  ShowTellConfig config_;
  nn::Linear image_;
  nn::Embedding embedding_;
  nn::RecurrentLayer cell_;
  nn::Linear output_;
};

}  // namespace attend::models
