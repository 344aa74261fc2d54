// "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows" (Liu et al. 2021, section 3). Attention
// runs inside windows; every second layer shifts them by half a window, so that neighbours meet (section 3.2). Between
// stages four neighbours become one place of twice the width (section 3.1).
//
//   pixels [B, H, W, channels] -> patches [B, side², C] -> stage i: [B, (side / 2^i)², 2^i·C] -> features [B, width]
//
// Sides are rounded up. Parameters carry the names of Hugging Face's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/image_classifier.h"
#include "attend/nn/attention.h"
#include "attend/nn/convolution.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/fixed_table.h"
#include "attend/nn/layers.h"
#include "attend/nn/residual.h"

namespace attend::models {

struct SwinConfig {
  std::int64_t image_size = 224, patch_size = 4, channels = 3;
  std::int64_t width = 96;  // width of the first stage; each stage doubles it
  std::vector<std::int64_t> depths = {2, 2, 6, 2}, heads = {3, 6, 12, 24};
  std::int64_t window = 7;
  float feed_forward = 4;
  std::string activation = "gelu";
  float dropout = 0, attention_dropout = 0, drop_path = 0.1f;
  float norm_eps = 1e-5f, init_deviation = 0.02f;

  std::string architecture = {};  // for example "SwinForImageClassification"
  std::vector<std::string> labels = {};
  ProblemType problem = ProblemType::single_label;  // what the scores of labels mean

  std::int64_t stages() const { return static_cast<std::int64_t>(depths.size()); }
  std::int64_t layers() const;
  std::int64_t width_of(std::int64_t stage) const { return width << stage; }
  std::int64_t hidden_of(std::int64_t stage) const;
  std::int64_t side_of(std::int64_t stage) const;  // places along one side of the stage's grid
  // A window as large as the grid covers it, and is not shifted. The table of distances shrinks with it, as in the
  // authors' code and in timm. transformers keeps a table of the full window, and then cannot run.
  std::int64_t window_of(std::int64_t stage) const;
  std::int64_t shift_of(std::int64_t stage, std::int64_t layer) const;

  // Field names follow config.json. depths and num_heads are lists and are read apart.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "height and width of the images");
    v("patch_size", patch_size, "height and width of a patch");
    v("num_channels", channels, "of the images");
    v("embed_dim", width, "of the first stage; it doubles from stage to stage");
    v("window_size", window, "height and width of the windows of attention");
    v("mlp_ratio", feed_forward, "width inside the feed-forward layers, as a multiple of the stage's");
    v("hidden_act", activation, "of the feed-forward layers");
    v("hidden_dropout_prob", dropout, "of embeddings and of what each sublayer adds");
    v("attention_probs_dropout_prob", attention_dropout, "of attention weights");
    v("drop_path_rate", drop_path, "stochastic depth: how often the last layer is left out, the others less");
    v("layer_norm_eps", norm_eps, "added to variances");
    v("initializer_range", init_deviation, "deviation of the weights a new model starts from");
  }
};

void check_config(const SwinConfig& config, std::string_view what);
// From a config.json whose model_type is "swin", and back.
SwinConfig swin_config(const Json& config, std::string_view what);
Json swin_json(const SwinConfig& config);

// What the layers of a stage share.
struct SwinWindows {
  SwinWindows(const SwinConfig& config, std::int64_t stage);
  std::int64_t side, window;
  std::int64_t padded;                          // the side, rounded up to a multiple of the window
  nn::FixedTable<std::int32_t> distances;       // [T·T]: row of the bias table for each pair of places
  std::optional<nn::FixedTable<float>> hidden;  // mask of shifted windows, [windows, H, T, T]
};

// Equation 3: x + attention(norm(x)) inside windows, then x + feed_forward(norm(x)). x stays [B, side², C].
class SwinLayer {
 public:
  SwinLayer(const SwinConfig& config, std::int64_t stage, std::int64_t index, const SwinWindows& windows);
  void operator()(nn::Residual& stream) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("layernorm_before", norm1_), v("attention", attention_);
    v("attention.self.relative_position_bias_table", distances_);
    v("layernorm_after", norm2_), v("", feed_forward_);
  }

 private:
  // Windowed attention: x [B, side², C] -> [B, side², C].
  Tensor attend(const Tensor& x) const;

  nn::LayerNorm norm1_, norm2_;
  nn::SelfAttention attention_;
  nn::Parameter distances_;  // [(2 · window - 1)², H]: relative position bias
  nn::FeedForward feed_forward_;
  SwinWindows windows_;
  std::int64_t shift_;
  float drop_path_;
};

// Patch merging (section 3.1): four neighbours are concatenated, normalised and projected to twice the width. [B,
// side², C] -> [B, ⌈side / 2⌉², 2·C]
class SwinMerging {
 public:
  SwinMerging(const SwinConfig& config, std::int64_t stage);
  Tensor operator()(const Tensor& x) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("norm", norm_), v("reduction", reduction_);
  }

 private:
  std::int64_t side_;
  nn::LayerNorm norm_;
  nn::Linear reduction_;
};

// Layers on one grid, then patch merging: [B, side², C] -> [B, ⌈side / 2⌉², 2·C], or unchanged in the last stage.
class SwinStage {
 public:
  SwinStage(const SwinConfig& config, std::int64_t stage);
  Tensor operator()(const Tensor& x) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("blocks", layers_);
    if (merging_) v("downsample", *merging_);
  }

 private:
  float dropout_;
  std::vector<SwinLayer> layers_;
  std::optional<SwinMerging> merging_;  // absent in the last stage
};

// The body: everything but the classifier.
class Swin {
 public:
  using Config = SwinConfig;
  static constexpr std::string_view kPrefix = "swin", kHead = "classifier";
  explicit Swin(const SwinConfig& config);
  const SwinConfig& config() const { return config_; }
  Json json() const { return swin_json(config_); }
  Extent2 size() const { return {config_.image_size, config_.image_size}; }
  std::int64_t width() const { return config_.width_of(config_.stages() - 1); }

  // pixels [B, H, W, channels] -> patches [B, side², C of the first stage].
  Tensor embed(const Tensor& pixels) const;
  // States of the last stage after the last norm, [B, places, C]. hidden receives the patches and the output of each
  // stage.
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // The mean over all places, [B, C].
  Tensor features(const Tensor& states) const;
  std::vector<AttentionPlace> attention_places() const;
  static std::string attention_label(std::int64_t stage, std::int64_t layer);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("embeddings.patch_embeddings.projection", patches_), v("embeddings.norm", patch_norm_);
    v("encoder.layers", stages_), v("layernorm", norm_);
  }

 private:
  SwinConfig config_;
  nn::Conv2d patches_;
  nn::LayerNorm patch_norm_;
  std::vector<SwinStage> stages_;
  nn::LayerNorm norm_;
};

using SwinClassifier = ImageClassifier<Swin>;

}  // namespace attend::models
