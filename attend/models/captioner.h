// A caption model, as training and generation see it: an encoder, which is any image model, and a decoder, which writes
// about its regions. Four papers are four decoders: show_tell.h, show_attend_tell.h, transformer_captions.h and
// gpt2_captions.h.
//
//   pixels [B, H, W, channels] -> regions [B, S, C];   captions [B, T] -> states [B, T, ..] -> logits [B, T, V]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/image_model.h"
#include "attend/nn/parameters.h"
#include "attend/nn/sequences.h"
#include "attend/nn/step_model.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/images.h"
#include "attend/tensor/pass.h"

namespace attend::models {

// Teacher forcing: captions are shifted right by one, after a start token; labels hold the token that each position
// should predict.
struct CaptionBatch {
  nn::Sequences captions;  // padded, [B, T]
  Tensor labels;           // i32 [B, T]; -100 is ignored
  Tensor counted;          // f32 [B, T]: 1 where a label counts, else 0

  CaptionBatch in(Pass& pass) const { return {captions.in(pass), pass.input(labels), pass.input(counted)}; }
};

struct CaptionLoss {
  Tensor total;           // f32 [1]
  ops::Loss words;        // cross entropy of the words
  Tensor attention = {};  // f32 [1]: penalty on the attention weights; undefined without one
};

// The interface of the decoders. All read regions of images, [B, S, C].
class CaptionDecoder {
 public:
  virtual ~CaptionDecoder() = default;
  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t max_length() const = 0;                        // the longest caption, with its start token
  virtual Json settings() const = 0;                                  // written to config.json
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;        // named as in the file of the whole model
  virtual void place(Backend&, DType, const Extent2& /*regions*/) {}  // puts tables that are not trained on the device

  // Teacher forcing with known captions: the state after each of their tokens, [B, T, ..].
  virtual Tensor decode(const Tensor& regions, const nn::Sequences& captions) const = 0;
  virtual Tensor logits(const Tensor& states) const = 0;
  virtual CaptionLoss loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const = 0;
  // Starts the generation of `group` captions for each image, in a pass that does not record and outlives the result.
  virtual std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& regions, std::int64_t group) const = 0;
  // The label under which a probe sees how tokens attend to regions, [B, H, T, S]; empty for a decoder without
  // attention.
  virtual std::string attention_label() const = 0;
  // For a decoder without attention: the one vector it reads of each image, [B, 1, ..]; otherwise undefined.
  virtual Tensor summary(const Tensor& /*regions*/) const { return {}; }
};

class Captioner {
 public:
  // Which of the encoder's states the decoder reads: the places of the image, or also the encoder's own tokens.
  enum class MemoryTokens : std::uint8_t {
    places,
    everything
  };  // everything includes the encoder's own tokens, which come first
  struct Parts {
    std::unique_ptr<ImageModel> encoder = {};
    // Parameters without those of the head, named as in the captioner's file.
    std::vector<nn::Parameters::Entry> encoder_parameters = {};
    std::unique_ptr<CaptionDecoder> decoder = {};
    Json config = {};  // the config.json of the model's folder
    MemoryTokens reads = MemoryTokens::places;
  };
  explicit Captioner(Parts parts) : parts_(std::move(parts)) {}

  const ImageModel& encoder() const { return *parts_.encoder; }
  const CaptionDecoder& decoder() const { return *parts_.decoder; }
  const Json& config() const { return parts_.config; }
  std::vector<nn::Parameters::Entry> parameters();
  // Call it once the parameters have memory.
  void place(Backend& backend, DType dtype);

  // pixels [B, H, W, channels] -> the regions that the decoder reads, [B, S, C].
  Tensor regions(const Tensor& pixels) const;
  CaptionLoss loss(const Tensor& pixels, const CaptionBatch& batch, float smoothing) const {
    return decoder().loss(regions(pixels), batch, smoothing);
  }
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& pixels, std::int64_t group) const {
    return decoder().start(pass, regions(pixels), group);
  }
  // How the regions lie over the image: this many tokens first, then a grid row by row.
  std::int64_t tokens_in_front() const;
  Extent2 grid(std::int64_t regions) const;

 private:
  Parts parts_;
};

}  // namespace attend::models
