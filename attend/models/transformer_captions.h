// The decoder of Vaswani et al. 2017 with regions of an image as its memory, as in Cornia et al. 2020. Regions are
// projected to its width, and sinusoids of their row and column are added. With encoder_layers a Transformer encoder
// reads them first, so that the features of a CNN know of each other.
//
//   regions [B, S, region width] -> memory [B, S, C];   captions [B, T] -> states [B, T, C] -> logits [B, T, V]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/models/captioner.h"
#include "attend/models/transformer.h"
#include "attend/nn/layers.h"

namespace attend::models {

struct TransformerCaptionsConfig {
  std::int64_t vocabulary = 0, max_length = 40;
  std::int64_t width = 512, heads = 8, hidden = 1024, layers = 3, encoder_layers = 0;
  float dropout = 0.3f;
  bool pre_norm = true;
  std::string activation = "gelu";

  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocabulary", vocabulary, "Number of tokens.");
    v("max_length", max_length, "Maximum caption length in tokens, including the start token.");
    v("width", width, "Model width (d_model).");
    v("heads", heads, "Attention heads; must divide the width.");
    v("hidden", hidden, "Width of the feed-forward layers.");
    v("layers", layers, "Number of decoder layers.");
    v("encoder_layers", encoder_layers, "Transformer encoder layers between the image model and the decoder.");
    v("dropout", dropout, "Dropout on embeddings and sublayer outputs.");
    v("pre_norm", pre_norm, "Apply layer norm before each sublayer; the paper applies it after.");
    v("activation", activation, "Activation of the feed-forward layers: relu, gelu, gelu_tanh or silu.");
  }
};

class TransformerCaptions : public CaptionDecoder {
 public:
  // `regions` is the width of the encoder's regions. `what` opens messages about the settings.
  TransformerCaptions(const TransformerCaptionsConfig& config, std::int64_t regions, std::string_view what);

  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::int64_t max_length() const override { return config_.max_length; }
  Json settings() const override;
  std::vector<nn::Parameters::Entry> parameters() override;
  void place(Backend& backend, DType dtype, const Extent2& regions) override;
  Tensor decode(const Tensor& regions, const nn::Sequences& captions) const override;
  Tensor logits(const Tensor& states) const override { return transformer_.logits(states); }
  CaptionLoss loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const override;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& regions, std::int64_t group) const override;
  std::string attention_label() const override { return transformer_.alignment_label(); }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("regions", regions_), v("", transformer_);
  }

 private:
  Tensor memory(const Tensor& regions) const;  // [B, S, C]

  TransformerCaptionsConfig config_;
  nn::Linear regions_;
  Transformer transformer_;
  Tensor places_;  // [S, C]: one half encodes the row, the other the column
};

}  // namespace attend::models
