// A model that looks at pictures, looked at: its labels, where every layer looks, attention rollout, and what changes
// when heads, layers, patches or positions are taken away. As with texts (inspect.h) no part of the models knows about
// this. A hidden patch is painted over: its pixels get the colour that the preprocessor makes 0 of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/image/image.h"
#include "attend/look/inspect/inspect.h"
#include "attend/look/inspect/picture_attention.h"
#include "attend/tasks/picture_encoder.h"

namespace attend::look {

struct PictureInspection {
  image::Image seen = {};              // what the model saw: resized, cropped, with what is hidden painted over
  std::vector<Candidate> labels = {};  // likeliest first; none of a model without a head
  std::string text = {};               // the label, for a person
  std::vector<PictureAttention> attention = {};  // layer by layer
  Rollout rollout = {};
};

// What a page needs to know before the first picture.
struct PictureCard {
  Json config = {};
  std::int64_t parameters = 0, labels = 0;
  Extent2 size = {};     // of the pictures it reads
  Extent2 patches = {};  // that can be hidden: its own grid, or of a finer one or none at all a coarser one
  bool positions = false;
  std::string unwalked = {};  // why it cannot be walked through step by step
};

struct PictureOptions {
  Ablation ablation = {};  // masked: patches of the card's grid, row by row; positions: all patches at the first one's
  std::size_t candidates = 8;
};

struct PictureTraceRequest {
  std::int64_t layer = 0, head = 0;
  std::int64_t token = 0;  // the model's own first, then patches row by row
};

// Ablation changes the model's weights for the time of a call: one call at a time.
class PictureInspector {
 public:
  // backend must outlive it.
  PictureInspector(const std::filesystem::path& folder, Backend& backend, DType dtype);

  const PictureCard& card() const { return card_; }
  const Anatomy& anatomy() const { return anatomy_; }
  const std::vector<models::AttentionPlace>& places() const { return places_; }
  image::Image prepare(const image::Image& picture) const { return encoder_.prepare(picture); }
  image::Image prepare(image::ImageRows& picture) const { return encoder_.prepare(picture); }

  // Of a prepared picture. Throw Error for heads, layers, patches and tokens that are not there.
  PictureInspection inspect(const image::Image& prepared, const PictureOptions& options = {});
  view::Trace trace(const image::Image& prepared, const PictureTraceRequest& request);
  // The cosine between the positions of any two patches, [patches, patches] (figure 7 of Dosovitskiy et al. 2020).
  // Throws Error when there are none.
  std::vector<float> position_likeness() const;

 private:
  image::Image painted_over(image::Image picture, const std::vector<std::int64_t>& patches) const;
  // The rows of its table of positions that belong to patches begin behind its tokens.
  std::int64_t tokens() const { return places_.empty() ? 0 : places_.front().tokens; }

  tasks::PictureEncoder encoder_;
  bool has_head_;
  PictureCard card_;
  Anatomy anatomy_;
  std::vector<models::AttentionPlace> places_;
  std::string positions_ = {};  // the name of their table
};

// By its config.json: whether a folder's model looks at pictures.
bool looks_at_pictures(const std::filesystem::path& folder);

}  // namespace attend::look
