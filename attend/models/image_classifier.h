// An image classifier: a body (Swin, MViTv2 or ResNet) and one projection from features [B, C] to scores [B, labels].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/fields.h"
#include "attend/base/json.h"
#include "attend/models/image_model.h"
#include "attend/nn/convolution.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameters.h"

namespace attend::models {

// The keys of config.json that the body reads or writes.
template <class Body>
std::vector<std::string> keys_of(const Body& body) {
  std::vector<std::string> names = field_names(body.config());
  const Json written = body.json();
  for (const auto& item : written.items()) names.push_back(item.key());
  return names;
}

// A body with one projection to labels. The body provides config(), json(), size(), width(), states(), features() and
// attention_places(). kPrefix and kHead are the names of body and projection in files.
template <class Body>
class ImageClassifier : public ImageModel {
 public:
  explicit ImageClassifier(const typename Body::Config& config)
      : body_(config),
        head_(body_.width(), static_cast<std::int64_t>(config.labels.size()),
              {.init = nn::Init{nn::Init::normal, 0.02f}}) {}
  const Body& body() const { return body_; }

  Json config() const override { return body_.json(); }
  std::vector<std::string> keys() const override { return keys_of(body_); }
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(*this); }
  Extent2 size() const override { return body_.size(); }
  bool any_size() const override {
    if constexpr (requires { body_.any_size(); })
      return body_.any_size();
    else
      return false;
  }
  std::int64_t channels() const override { return body_.config().channels; }
  const std::vector<std::string>& labels() const override { return body_.config().labels; }
  ProblemType problem() const override { return body_.config().problem; }
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
