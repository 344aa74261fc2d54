// GPT-2 (Radford et al. 2019) with cross-attention as a caption decoder: transformers' VisionEncoderDecoderModel.
//   regions [B, S, encoder width] -> memory [B, S, C];   captions [B, T] -> states [B, T, C] -> logits [B, T, V]
// A projection connects encoder and decoder when their widths differ. Parameters carry the names of Hugging Face's
// files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attend/models/captioner.h"
#include "attend/models/gpt2.h"
#include "attend/nn/layers.h"

namespace attend::models {

class Gpt2Captions : public CaptionDecoder {
 public:
  // `regions` is the width of the encoder's regions.
  Gpt2Captions(const GPT2Config& config, std::int64_t regions);

  std::int64_t vocabulary() const override { return body_.config().vocabulary; }
  std::int64_t max_length() const override { return body_.config().max_length; }
  Json settings() const override { return gpt2_json(body_.config()); }
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(*this); }
  Tensor decode(const Tensor& regions, const nn::Sequences& captions) const override;
  Tensor logits(const Tensor& states) const override { return body_.logits(states); }
  CaptionLoss loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const override;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& regions, std::int64_t group) const override;
  std::string attention_label() const override { return GPT2::cross_attention_label(body_.config().layers - 1); }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("decoder.transformer", body_);
    if (projection_) v("enc_to_dec_proj", *projection_);
  }

 private:
  Tensor memory(const Tensor& regions) const { return projection_ ? (*projection_)(regions) : regions; }

  GPT2 body_;
  std::optional<nn::Linear> projection_;
};

}  // namespace attend::models
