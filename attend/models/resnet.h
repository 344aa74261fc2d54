// "Deep Residual Learning for Image Recognition" (He et al. 2016), of 18 to 152 layers: stages of blocks,
// each of which adds to what it reads, and every stage but the first at half the height and width of the one before.
// Parameters have the names of Hugging Face's files.
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
  std::int64_t channels = 3, width = 64;  // of the images, and behind the stem
  std::vector<std::int64_t> hidden_sizes = {256, 512, 1024, 2048}, depths = {3, 4, 6, 3};
  std::string layer_type = "bottleneck";  // or basic: 18 and 34 layers
  std::string activation = "relu";
  bool downsample_in_first_stage = false, downsample_in_bottleneck = false;
  // Ours: "small" is for images of 32 x 32 (section 4.2), a 3 x 3 window and no pooling, where "imagenet" reads 7 x 7
  // with a stride of 2 and pools.
  std::string stem = "imagenet";
  std::int64_t image_size = 224;  // of the images it was made for; it reads others, too
  // Ours: behind which stage, 1 being the first, there is self-attention over its places (Zhang et al. 2019); 0: none.
  std::int64_t self_attention_stage = 0;

  // Not of the file: how many pixels a place of the last stage stands for. Of 16 or 8, stages that would go beyond it
  // widen their windows (dilation) instead of halving the grid, as timm does (DETR's DC5).
  std::int64_t output_stride = 32;
  bool frozen_norms = false;      // not of the file: norms go by their running statistics even while the model learns
  std::string architecture = {};  // "ResNetForImageClassification"
  std::vector<std::string> labels = {};
  ProblemType problem = ProblemType::single_label;  // what the scores of labels mean

  bool small() const { return stem == "small"; }

  // By the keys of config.json.
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
  }
};

void check_config(const ResNetConfig& config, std::string_view what);
// From a config.json whose model_type is "resnet", and back.
ResNetConfig resnet_config(const Json& config, std::string_view what);
Json resnet_json(const ResNetConfig& config);

// How far the windows of a block step, and how far apart they read: `first` where the grid could have been halved.
struct ResNetSteps {
  std::int64_t stride = 1, first_dilation = 1, dilation = 1;
};

// activation(f(x) + shortcut(x)): two convolutions of 3 x 3, or in a bottleneck one of them between two of 1 x 1.
class ResNetBlock {
 public:
  ResNetBlock(const ResNetConfig& config, std::int64_t in, std::int64_t out, const ResNetSteps& steps);
  Tensor operator()(const Tensor& x) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    if (shortcut_) v("shortcut", *shortcut_);
    v("layer", layers_);
  }

 private:
  std::optional<nn::ConvNorm> shortcut_;  // where the shapes differ
  std::vector<nn::ConvNorm> layers_;
  Activation activation_;
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
  // Attention between its places is of those of its own size.
  bool any_size() const { return !attention_; }
  std::int64_t width() const { return config_.hidden_sizes.back(); }

  // H' and W' of images of this size.
  Extent2 grid_size(Extent2 pixels) const;
  // pixels [B, H, W, C] of any size -> [B, H', W', width]; hidden gets the stem's and each stage's.
  Tensor grid(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // The same as places, [B, H' · W', width].
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // Their mean, [B, width].
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

  // Height and width behind this stage, of images of this size.
  Extent2 size_behind(std::size_t stage, Extent2 pixels) const;
};

using ResNetClassifier = ImageClassifier<ResNet>;

}  // namespace attend::models
