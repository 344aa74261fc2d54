// A model that looks at images, looked at: its labels, where every layer looks, attention rollout, and what changes
// when heads, layers, patches or positions are taken away. As with texts (inspect.h) no part of the models knows about
// this. A hidden patch is painted over: its pixels get the colour that the preprocessor makes 0 of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/image/image.h"
#include "attend/look/inspect/image_attention.h"
#include "attend/look/inspect/inspect.h"
#include "attend/tasks/image_encoder.h"

namespace attend::look {

struct ImageInspection {
  image::Image seen = {};                      // what the model saw: resized, cropped, with what is hidden painted over
  std::vector<Candidate> labels = {};          // likeliest first; none of a model without a head
  std::string text = {};                       // the label, for a person
  std::vector<ImageAttention> attention = {};  // layer by layer
  Rollout rollout = {};
};

// What a page needs to know before the first image.
struct ImageCard {
  Json config = {};
  std::int64_t parameters = 0, labels = 0;
  Extent2 size = {};     // of the images it reads
  Extent2 patches = {};  // that can be hidden: its own grid, or of a finer one or none at all a coarser one
  bool positions = false;
  std::string unwalked = {};  // why it cannot be walked through step by step
};

struct ImageOptions {
  Ablation ablation = {};  // masked: patches of the card's grid, row by row; positions: all patches at the first one's
  std::size_t candidates = 8;
};

struct ImageTraceRequest {
  std::int64_t layer = 0, head = 0;
  std::int64_t token = 0;  // the model's own first, then patches row by row
};

// Ablation changes the model's weights for the time of a call: one call at a time.
class ImageInspector {
 public:
  // backend must outlive it.
  ImageInspector(const std::filesystem::path& folder, Backend& backend, DType dtype);

  const ImageCard& card() const { return card_; }
  const Anatomy& anatomy() const { return anatomy_; }
  const std::vector<models::AttentionPlace>& places() const { return places_; }
  image::Image prepare(const image::Image& image) const { return encoder_.prepare(image); }
  image::Image prepare(image::ImageRows& image) const { return encoder_.prepare(image); }

  // Of a prepared image. Throw Error for heads, layers, patches and tokens that are not there.
  ImageInspection inspect(const image::Image& prepared, const ImageOptions& options = {});
  view::Trace trace(const image::Image& prepared, const ImageTraceRequest& request);
  // The cosine between the positions of any two patches, [patches, patches] (figure 7 of Dosovitskiy et al. 2020).
  // Throws Error when there are none.
  std::vector<float> position_likeness() const;

 private:
  image::Image painted_over(image::Image image, const std::vector<std::int64_t>& patches) const;
  // The rows of its table of positions that belong to patches begin behind its tokens.
  std::int64_t tokens() const { return places_.empty() ? 0 : places_.front().tokens; }

  tasks::ImageEncoder encoder_;
  bool has_head_;
  ImageCard card_;
  Anatomy anatomy_;
  std::vector<models::AttentionPlace> places_;
  std::string positions_ = {};  // the name of their table
};

}  // namespace attend::look
