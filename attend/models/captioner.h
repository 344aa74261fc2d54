// What training and searching need of a model that writes about images: an encoder, which is any model that looks at
// images, and a decoder, which writes about its regions. Four papers are four decoders: show_tell.h,
// show_attend_tell.h, transformer_captions.h and gpt2_captions.h.
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

// Teacher forcing: captions are moved right by one, behind a start token; labels say what each of their positions
// should answer.
struct CaptionBatch {
  nn::Sequences captions;  // padded, [B, T]
  Tensor labels;           // i32 [B, T]; -100 counts for nothing
  Tensor counted;          // f32 [B, T]: 1 where a label counts, else 0

  CaptionBatch in(Pass& pass) const { return {captions.in(pass), pass.input(labels), pass.input(counted)}; }
};

struct CaptionLoss {
  Tensor total;           // f32 [1]
  ops::Loss words;        // the cross entropy
  Tensor attention = {};  // f32 [1]: what is asked of the attention besides; undefined where nothing is
};

// All read regions of images, [B, S, C].
class CaptionDecoder {
 public:
  virtual ~CaptionDecoder() = default;
  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t max_length() const = 0;                        // of a caption, with its start token
  virtual Json settings() const = 0;                                  // for config.json
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;        // by their names in the captioner's file
  virtual void place(Backend&, DType, const Extent2& /*regions*/) {}  // what is not trained, on the device

  // Captions that are known: the states behind each of their tokens, [B, T, ..].
  virtual Tensor decode(const Tensor& regions, const nn::Sequences& captions) const = 0;
  virtual Tensor logits(const Tensor& states) const = 0;
  virtual CaptionLoss loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const = 0;
  // Captions to be written, `group` for each image, in a pass that does not record and outlives the result.
  virtual std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& regions, std::int64_t group) const = 0;
  // Under which a probe sees where each token looked, [B, H, T, S]; empty for one without attention.
  virtual std::string attention_label() const = 0;
  // Of one without attention: the one vector that is all it knows of each image, [B, 1, ..]; else undefined.
  virtual Tensor summary(const Tensor& /*regions*/) const { return {}; }
};

class Captioner {
 public:
  // What of the encoder's states the decoder reads.
  enum class MemoryTokens : std::uint8_t {
    places,
    everything
  };  // everything: with tokens of the encoder's own in front
  struct Parts {
    std::unique_ptr<ImageModel> encoder = {};
    // Without its head, by their names in the captioner's file.
    std::vector<nn::Parameters::Entry> encoder_parameters = {};
    std::unique_ptr<CaptionDecoder> decoder = {};
    Json config = {};  // config.json of a folder that holds it
    MemoryTokens reads = MemoryTokens::places;
  };
  explicit Captioner(Parts parts) : parts_(std::move(parts)) {}

  const ImageModel& encoder() const { return *parts_.encoder; }
  const CaptionDecoder& decoder() const { return *parts_.decoder; }
  const Json& config() const { return parts_.config; }
  std::vector<nn::Parameters::Entry> parameters();
  // Once the parameters have memory.
  void place(Backend& backend, DType dtype);

  // pixels [B, H, W, C] -> what the decoder reads, [B, S, C].
  Tensor regions(const Tensor& pixels) const;
  CaptionLoss loss(const Tensor& pixels, const CaptionBatch& batch, float smoothing) const {
    return decoder().loss(regions(pixels), batch, smoothing);
  }
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& pixels, std::int64_t group) const {
    return decoder().start(pass, regions(pixels), group);
  }
  // How the regions lie over the image: so many tokens first, then a grid row by row.
  std::int64_t tokens_in_front() const;
  Extent2 grid(std::int64_t regions) const;

 private:
  Parts parts_;
};

}  // namespace attend::models
