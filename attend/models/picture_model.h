// What every model that looks at pictures is to the rooms above: pictures in, features and scores of labels out, and
// where its attention lies over the picture.
//   x [B, H, W, C], normalised as the model's folder says, in the dtype the model computes in
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/fields.h"
#include "attend/base/json.h"
#include "attend/nn/convolution.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/pictures.h"

namespace attend::models {

// The attention of one layer as a probe sees it, [B, heads, queries, keys] (with windows: [B · windows, ..]), and how
// its queries and keys lie over the picture: `tokens` of their own first, then a grid row by row.
struct AttentionPlace {
  std::string label;
  std::int64_t heads = 1;
  std::int64_t tokens = 0;
  Extent2 queries = {}, keys = {};
  std::int64_t window = 0, shift = 0;  // Swin: attention inside of windows of window x window, moved by shift
};

// Of a model that makes its picture smaller and its states wider from one to the next.
inline constexpr std::int64_t kMostStages = 8;

// Stochastic depth grows from 0 in the first layer to the rate in the last.
float drop_path_of(float rate, std::int64_t layer, std::int64_t layers);
nn::Branch drop_path(const nn::Branch& branch, float rate);
// Throws Error unless pixels are [B, size, channels].
void check_pictures(const Tensor& pixels, const Extent2& size, std::int64_t channels);

class PictureModel {
 public:
  virtual ~PictureModel() = default;
  virtual Json config() const = 0;                    // config.json of a folder that holds it
  virtual std::vector<std::string> keys() const = 0;  // that mean something in it
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;
  virtual Extent2 size() const = 0;  // of the pictures it was made for
  virtual std::int64_t channels() const = 0;
  virtual const std::vector<std::string>& labels() const = 0;
  virtual std::int64_t width() const = 0;  // of its states: C

  // What the model makes of each place, [B, places, C]: with tokens of its own in front, as attention_places() says.
  // hidden gets the embeddings and what every layer makes of them.
  virtual Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const = 0;
  // Of the picture as a whole, [B, C].
  virtual Tensor features(const Tensor& states) const = 0;
  // [B, labels]
  virtual Tensor scores(const Tensor& features) const = 0;
  Tensor logits(const Tensor& pixels) const { return scores(features(states(pixels))); }
  // Once its weights are in place, of a model that is only run: what they come to is computed ahead
  // (nn::ConvNorm::fold). Changes nothing but the speed.
  virtual void fold() {}

  virtual std::vector<AttentionPlace> attention_places() const = 0;
};

// Of a config.json: what a body visits, and what it writes besides.
template <class Body>
std::vector<std::string> keys_of(const Body& body) {
  std::vector<std::string> names = field_names(body.config());
  const Json written = body.json();
  for (const auto& item : written.items()) names.push_back(item.key());
  return names;
}

// A body with one projection to labels on top. Of the body it takes config(), json(), size(), width(), states(),
// features() and attention_places(); kPrefix and kHead are the names of both in files.
template <class Body>
class PictureClassifier : public PictureModel {
 public:
  explicit PictureClassifier(const typename Body::Config& config)
      : body_(config),
        head_(body_.width(), static_cast<std::int64_t>(config.labels.size()),
              {.init = nn::Init{nn::Init::normal, 0.02f}}) {}
  const Body& body() const { return body_; }

  Json config() const override { return body_.json(); }
  std::vector<std::string> keys() const override { return keys_of(body_); }
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(*this); }
  Extent2 size() const override { return body_.size(); }
  std::int64_t channels() const override { return body_.config().channels; }
  const std::vector<std::string>& labels() const override { return body_.config().labels; }
  std::int64_t width() const override { return body_.width(); }
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden) const override {
    return body_.states(pixels, hidden);
  }
  Tensor features(const Tensor& states) const override { return body_.features(states); }
  Tensor scores(const Tensor& features) const override { return head_(features); }
  std::vector<AttentionPlace> attention_places() const override { return body_.attention_places(); }
  void fold() override { nn::fold_norms(*this); }

  template <class Visitor>
  void visit(Visitor&& v) {
    v(Body::kPrefix, body_), v(Body::kHead, head_);
  }

 private:
  Body body_;
  nn::Linear head_;
};

}  // namespace attend::models
