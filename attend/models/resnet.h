// "Deep Residual Learning for Image Recognition" (He et al. 2016, section 3), with 18 to 200 layers. A stage is a row
// of blocks, and each block adds to its input. Every stage but the first halves height and width.
//
//   pixels [B, H, W, channels] -> stem -> [B, H/4, W/4, width] -> stages -> grid [B, H/32, W/32, C] -> features [B, C]
//
// Sizes are rounded up at each halving. Parameters carry the names of Hugging Face's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/image_classifier.h"
#include "attend/nn/convolution.h"
#include "attend/nn/self_attention_2d.h"

namespace attend::models {

struct ResNetConfig {
  std::int64_t channels = 3, width = 64;  // channels of the images, and after the stem
  std::vector<std::int64_t> hidden_sizes = {256, 512, 1024, 2048}, depths = {3, 4, 6, 3};
  std::string layer_type = "bottleneck";  // "basic" is for 18 and 34 layers
  std::string activation = "relu";
  bool downsample_in_first_stage = false, downsample_in_bottleneck = false;
  // Our own setting: "small" is for images of 32 x 32 (section 4.2) and has a 3 x 3 convolution without pooling.
  // "imagenet" has a 7 x 7 convolution with a stride of 2, then pooling.
  std::string stem = "imagenet";
  std::int64_t image_size = 224;  // size of the images it was trained on; it also reads others
  // Our own setting: self-attention over all places follows this stage, 1 being the first (Zhang et al. 2019); 0 means
  // none.
  std::int64_t self_attention_stage = 0;
  // Our own setting: stochastic depth (Huang et al. 2016). A block's f is left out for some images, in the last block
  // this often and in those before it less.
  float drop_path = 0;

  // Not read from the file: how many pixels one place of the last stage covers. With 16 or 8, later stages dilate their
  // windows instead of halving the grid, as timm does (DC5 in DETR).
  std::int64_t output_stride = 32;
  bool frozen_norms = false;      // not read from the file: keeps the norms' running statistics fixed in training
  std::string architecture = {};  // for example "ResNetForImageClassification"
  std::vector<std::string> labels = {};
  ProblemType problem = ProblemType::single_label;  // what the scores of labels mean

  bool small() const { return stem == "small"; }

  // Field names follow config.json.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("num_channels", channels, "of the images");
    v("embedding_size", width, "channels behind the stem");
    v("layer_type", layer_type, "basic (18 and 34 layers) or bottleneck (50 and more)");
    v("hidden_act", activation, "of the blocks");
    v("downsample_in_first_stage", downsample_in_first_stage, "the first stage has a stride of 2, too");
    v("downsample_in_bottleneck", downsample_in_bottleneck, "the stride is the first convolution's, not the second's");
    v("stem", stem, "imagenet (7 x 7, a stride of 2, pooling) or small (3 x 3)");
    v("image_size", image_size, "height and width of the images it is made for");
    v("self_attention_stage", self_attention_stage, "the stage behind which there is self-attention; 0: none");
    v("drop_path_rate", drop_path, "stochastic depth: how often the last block is left out, the others less");
  }
};

void check_config(const ResNetConfig& config, std::string_view what);
// From a config.json whose model_type is "resnet", and back.
ResNetConfig resnet_config(const Json& config, std::string_view what);
Json resnet_json(const ResNetConfig& config);

// Stride and dilation of a block's windows. first_dilation belongs to its first 3 x 3 convolution: in the first block
// of a dilated stage it is still the dilation of the stage before.
struct ResNetSteps {
  std::int64_t stride = 1, first_dilation = 1, dilation = 1;
};

// Figure 5 of the paper: activation(f(x) + shortcut(x)). f is two 3 x 3 convolutions, or in a bottleneck 1 x 1, 3 x 3,
// 1 x 1. x [B, H, W, in] -> [B, H / stride, W / stride, out]
class ResNetBlock {
 public:
  ResNetBlock(const ResNetConfig& config, std::int64_t in, std::int64_t out, const ResNetSteps& steps, float drop_path);
  Tensor operator()(const Tensor& x) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    if (shortcut_) v("shortcut", *shortcut_);
    v("layer", layers_);
  }

 private:
  std::optional<nn::ConvNorm> shortcut_;  // present where input and output shapes differ
  std::vector<nn::ConvNorm> layers_;
  Activation activation_;
  float drop_path_;
};

struct ResNetStage {
  std::vector<ResNetBlock> blocks;
  std::int64_t stride = 1;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("layers", blocks);
  }
};

class ResNet {
 public:
  using Config = ResNetConfig;
  static constexpr const char* kAttention = "self-attention";
  static constexpr const char *kPrefix = "resnet", *kHead = "classifier.1";
  explicit ResNet(const ResNetConfig& config);
  const ResNetConfig& config() const { return config_; }
  Json json() const { return resnet_json(config_); }
  Extent2 size() const { return {config_.image_size, config_.image_size}; }
  // With self-attention only images of the configured size are supported.
  bool any_size() const { return !attention_; }
  std::int64_t width() const { return config_.hidden_sizes.back(); }

  // H' and W' of the last grid for images of this size.
  Extent2 grid_size(Extent2 pixels) const;
  // pixels [B, H, W, channels] of any size -> [B, H', W', C]. hidden receives the output of the stem and of each stage.
  Tensor grid(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // The same as a sequence of places, [B, H'·W', C].
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // The mean over all places, [B, C].
  Tensor features(const Tensor& states) const;
  std::vector<AttentionPlace> attention_places() const;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("embedder.embedder", stem_), v("encoder.stages", stages_);
    if (attention_) v("encoder.self_attention", *attention_);
  }

 private:
  ResNetConfig config_;
  nn::ConvNorm stem_;
  std::vector<ResNetStage> stages_;
  std::optional<nn::SelfAttention2d> attention_;
  Activation activation_;

  // Height and width after this stage for images of this size.
  Extent2 size_behind(std::size_t stage, Extent2 pixels) const;
};

using ResNetClassifier = ImageClassifier<ResNet>;

}  // namespace attend::models
