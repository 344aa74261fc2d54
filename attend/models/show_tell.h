// "Show and Tell: A Neural Image Caption Generator" (Vinyals et al. 2015, section 3.1): an LSTM reads the image once,
// as its first input, and must remember it. It has no attention and is the baseline for show_attend_tell.h.
//
//   regions [B, S, C] -> mean -> [B, 1, W];   captions [B, T] -> [B, T, W];   LSTM -> states [B, T, H] -> [B, T, V]
//
// With image_at "every" it is the plain decoder of the lectures instead, y_t = g(y_{t-1}, h_{t-1}, c): the first state
// h_0 is made of the image, and c = h_0 is part of the input of every step.
//
//   regions [B, S, C] -> mean -> c [B, H];   captions [B, T] -> [B, T, W] and c -> [B, T, W + H] -> states [B, T, H]
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
  std::string image_at = "first";

  bool at_every_step() const { return image_at == "every"; }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocabulary", vocabulary, "how many tokens there are");
    v("max_length", max_length, "longest caption, in tokens, its start among them");
    v("width", width, "of an embedding");
    v("hidden", hidden, "width of the recurrent state");
    v("dropout", dropout, "of embeddings and of what the output layer reads");
    v("image_at", image_at, "steps that read the image: first (as the first word) or every");
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

  // What each step reads of the images: c, [B, 1, H], with image_at "every".
  struct Memory {
    Tensor image = {};
    std::array<Tensor*, 1> parts() { return {&image}; }
  };
  // The state before the first word, [B, H].
  RecurrentState begin(const Tensor& seen) const;
  Tensor step(const Tensor& tokens, const Memory& memory, RecurrentState& state) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("image", image_), v("embed", embedding_);
    cell_.visit([&](const std::string& name, nn::Parameter& parameter) { v("cell." + name, parameter); }, "");
    v("out", output_);
  }

 private:
  // [B, 1, W]: the image in the space of words. With image_at "every" [B, 1, H]: in that of states.
  Tensor see(const Tensor& regions) const;
  // Words [B, T, W] with the image beside each of them: [B, T, W + H].
  Tensor beside(const Tensor& words, const Tensor& image) const;

  ShowTellConfig config_;
  nn::Linear image_;
  nn::Embedding embedding_;
  nn::RecurrentLayer cell_;
  nn::Linear output_;
};

}  // namespace attend::models
