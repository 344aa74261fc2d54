// The interface of every model that reads images, for the folders above.
//   pixels [B, H, W, channels] -> states [B, places, C] -> features [B, C] -> scores [B, labels]
// Pixels are normalised as the model's folder says, in the dtype the model computes in.
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

// The most stages of a model whose stages shrink the grid and widen the states.
inline constexpr std::int64_t kMostStages = 8;

// Stochastic depth grows from 0 in the first layer to the rate in the last.
float drop_path_of(float rate, std::int64_t layer, std::int64_t layers);
// The branch, to be dropped at this rate when it is added.
nn::Branch drop_path(nn::Branch branch, float rate);
// Throws Error unless pixels are [B, size, channels].
void check_images(const Tensor& pixels, const Extent2& size, std::int64_t channels);

class ImageModel {
 public:
  virtual ~ImageModel() = default;
  virtual Json config() const = 0;                    // the config.json of the model's folder
  virtual std::vector<std::string> keys() const = 0;  // keys of config.json that this model uses
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;
  virtual Extent2 size() const = 0;                // size of the images it was trained on
  virtual bool any_size() const { return false; }  // true if it also reads images of other sizes
  virtual std::int64_t channels() const = 0;
  virtual const std::vector<std::string>& labels() const = 0;
  virtual ProblemType problem() const = 0;  // says what the scores of labels mean
  virtual std::int64_t width() const = 0;   // the width C of its states

  // The state of each place, [B, places, C], with the model's own tokens first, as attention_places() says. hidden
  // receives the embeddings and the output of every layer.
  virtual Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const = 0;
  // One vector for the whole image, [B, C].
  virtual Tensor features(const Tensor& states) const = 0;
  // Scores of the labels, [B, labels].
  virtual Tensor scores(const Tensor& features) const = 0;
  Tensor logits(const Tensor& pixels) const { return scores(features(states(pixels))); }
  // Precomputes what inference can reuse (nn::ConvNorm::fold). Call it once the weights are loaded, and only if the
  // model is not trained. The results stay the same; only the speed changes.
  virtual void fold() {}

  virtual std::vector<AttentionPlace> attention_places() const = 0;
};

}  // namespace attend::models
