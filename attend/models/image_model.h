// What every model that looks at images is to the rooms above: images in, features and scores of labels out, and
// where its attention lies over the image.
//   x [B, H, W, C], normalised as the model's folder says, in the dtype the model computes in
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/problem_type.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/images.h"

namespace attend::models {

// The attention of one layer as a probe sees it, [B, heads, queries, keys] (with windows: [B · windows, ..]), and how
// its queries and keys lie over the image: `tokens` of their own first, then a grid row by row.
struct AttentionPlace {
  std::string label;
  std::int64_t heads = 1;
  std::int64_t tokens = 0;
  Extent2 queries = {}, keys = {};
  std::int64_t window = 0, shift = 0;  // Swin: attention inside of windows of window x window, moved by shift
};

// Of a model that makes its image smaller and its states wider from one to the next.
inline constexpr std::int64_t kMostStages = 8;

// Stochastic depth grows from 0 in the first layer to the rate in the last.
float drop_path_of(float rate, std::int64_t layer, std::int64_t layers);
nn::Branch drop_path(const nn::Branch& branch, float rate);
// Throws Error unless pixels are [B, size, channels].
void check_images(const Tensor& pixels, const Extent2& size, std::int64_t channels);

class ImageModel {
 public:
  virtual ~ImageModel() = default;
  virtual Json config() const = 0;                    // config.json of a folder that holds it
  virtual std::vector<std::string> keys() const = 0;  // that mean something in it
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;
  virtual Extent2 size() const = 0;                // of the images it was made for
  virtual bool any_size() const { return false; }  // it reads others, too
  virtual std::int64_t channels() const = 0;
  virtual const std::vector<std::string>& labels() const = 0;
  virtual ProblemType problem() const = 0;  // what its scores of labels mean
  virtual std::int64_t width() const = 0;   // of its states: C

  // What the model makes of each place, [B, places, C]: with tokens of its own in front, as attention_places() says.
  // hidden gets the embeddings and what every layer makes of them.
  virtual Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const = 0;
  // Of the image as a whole, [B, C].
  virtual Tensor features(const Tensor& states) const = 0;
  // [B, labels]
  virtual Tensor scores(const Tensor& features) const = 0;
  Tensor logits(const Tensor& pixels) const { return scores(features(states(pixels))); }
  // Once its weights are in place, of a model that is only run: what they come to is computed ahead
  // (nn::ConvNorm::fold). Changes nothing but the speed.
  virtual void fold() {}

  virtual std::vector<AttentionPlace> attention_places() const = 0;
};

}  // namespace attend::models
