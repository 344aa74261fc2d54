// Small convolutional networks for small images that learn fast: ResNet-9 (Page 2018, "How to Train Your ResNet", the
// winner of DAWNBench's CIFAR-10) and the networks of airbench (Jordan 2024, "94% on CIFAR-10 in 3.29 Seconds on a
// Single GPU", section 3 and appendix A). A stage widens, halves height and width at once, and has a shortcut around
// its other convolutions if there are two or more.
//
//   pixels [B, H, W, channels] -> stem -> stages -> grid [B, H', W', C] -> the largest of each channel [B, C]
//
//   stage   x = act(norm(pool(conv(x)))), then depth - 1 times act(norm(conv(x))); the last adds the first x before act
//
// depths {3, 1, 3} with widths {128, 256, 512} are ResNet-9, {2, 2, 2} with {64, 256, 256} airbench94, {3, 3, 3} with
// {128, 512, 512} airbench96. Files of this kind are our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/image_classifier.h"
#include "attend/nn/convolution.h"

namespace attend::models {

struct ResNet9Config {
  std::int64_t channels = 3, image_size = 32;
  // "convolution" is 3 x 3 with batch norm. "whitening" is 2 x 2 without padding: 24 filters, the directions of the
  // training images' patches and their opposites, each scaled to variance 1 (section 3.2). Training sets and keeps
  // them.
  std::string stem = "convolution";
  std::int64_t width = 64;  // channels after the stem "convolution"
  std::vector<std::int64_t> hidden_sizes = {128, 256, 512}, depths = {3, 1, 3};
  std::string activation = "relu";
  float norm_momentum = 0.1f;  // how far running statistics move towards a batch's: short runs need 0.4
  float logit_scale = 0.125f;

  std::string architecture = {};
  std::vector<std::string> labels = {};
  ProblemType problem = ProblemType::single_label;

  bool whitening() const { return stem == "whitening"; }
  std::int64_t stem_width() const { return whitening() ? 2 * 4 * channels : width; }
  std::int64_t grid() const;  // height and width of the last stage

  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "height and width of the images");
    v("num_channels", channels, "of the images");
    v("stem", stem, "convolution (3 x 3, batch norm) or whitening (2 x 2, from the training images)");
    v("embedding_size", width, "channels behind a stem of convolution");
    v("hidden_act", activation, "of all layers");
    v("norm_momentum", norm_momentum, "how far running statistics move towards a batch's");
    v("logit_scale", logit_scale, "factor of the scores");
  }
};

void check_config(const ResNet9Config& config, std::string_view what);
// From a config.json whose model_type is "resnet9", and back.
ResNet9Config resnet9_config(const Json& config, std::string_view what);
Json resnet9_json(const ResNet9Config& config);

// x [B, H, W, in] -> [B, H / 2, W / 2, out]
class ResNet9Stage {
 public:
  ResNet9Stage(const ResNet9Config& config, std::int64_t in, std::int64_t out, std::int64_t depth);
  Tensor operator()(const Tensor& x) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("convolution", convolution_), v("normalization", normalization_), v("layers", layers_);
  }

 private:
  nn::Conv2d convolution_;
  nn::BatchNorm normalization_;
  std::vector<nn::ConvNorm> layers_;
  Activation activation_;
};

class ResNet9 {
 public:
  using Config = ResNet9Config;
  static constexpr const char *kPrefix = "resnet9", *kHead = "classifier";
  static constexpr const char* kWhitening = "resnet9.whitening.weight";  // the filters that training sets
  explicit ResNet9(const ResNet9Config& config);
  const ResNet9Config& config() const { return config_; }
  Json json() const { return resnet9_json(config_); }
  Extent2 size() const { return {config_.image_size, config_.image_size}; }
  std::int64_t width() const { return config_.hidden_sizes.back(); }

  // The places of the last grid, [B, H'·W', C]. hidden receives the output of the stem and of each stage.
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // The largest value of each channel, scaled: [B, C].
  Tensor features(const Tensor& states) const;
  std::vector<AttentionPlace> attention_places() const { return {}; }

  template <class Visitor>
  void visit(Visitor&& v) {
    if (stem_) v("stem", *stem_);
    if (whitening_) v("whitening", *whitening_);
    v("stages", stages_);
  }

 private:
  ResNet9Config config_;
  std::optional<nn::ConvNorm> stem_;  // one of these
  std::optional<nn::Conv2d> whitening_;
  std::vector<ResNet9Stage> stages_;
  Activation activation_;
};

using ResNet9Classifier = ImageClassifier<ResNet9>;

}  // namespace attend::models
