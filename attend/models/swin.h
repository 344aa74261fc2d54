// "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows" (Liu et al. 2021): attention inside of
// windows, which every second layer cuts half a window further; between stages four neighbours become one place of
// twice the width. Parameters have the names of Hugging Face's files.
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
  std::int64_t width = 96;  // of the first stage; each of the others has twice that of the one before
  std::vector<std::int64_t> depths = {2, 2, 6, 2}, heads = {3, 6, 12, 24};
  std::int64_t window = 7;
  float feed_forward = 4;
  std::string activation = "gelu";
  float dropout = 0, attention_dropout = 0, drop_path = 0.1f;
  float norm_eps = 1e-5f, init_deviation = 0.02f;

  std::string architecture = {};  // "SwinForImageClassification"
  std::vector<std::string> labels = {};
  ProblemType problem = ProblemType::single_label;  // what the scores of labels mean

  std::int64_t stages() const { return static_cast<std::int64_t>(depths.size()); }
  std::int64_t layers() const;
  std::int64_t width_of(std::int64_t stage) const { return width << stage; }
  std::int64_t hidden_of(std::int64_t stage) const;
  std::int64_t side_of(std::int64_t stage) const;  // of its grid of places
  // A window that is no smaller than the grid is the grid, and is not shifted. The table of distances shrinks with it,
  // as in the authors' code and in timm; transformers keeps a table of the full window, and then cannot run.
  std::int64_t window_of(std::int64_t stage) const;
  std::int64_t shift_of(std::int64_t stage, std::int64_t layer) const;

  // By the keys of config.json, where depths and num_heads are lists besides.
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

// What the layers of a stage have in common.
struct SwinWindows {
  SwinWindows(const SwinConfig& config, std::int64_t stage);
  std::int64_t side, window;
  std::int64_t padded;                          // the side up to a multiple of the window
  nn::FixedTable<std::int32_t> distances;       // the row of the table for each pair of places of a window
  std::optional<nn::FixedTable<float>> hidden;  // what shifted windows must not see; none where nothing is shifted
};

// x + attention(norm(x)) inside of windows, then x + feed_forward(norm(x)).
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
  // x [B, side · side, C] -> the same shape.
  Tensor attend(const Tensor& x) const;

  nn::LayerNorm norm1_, norm2_;
  nn::SelfAttention attention_;
  nn::Parameter distances_;  // [(2 · window - 1)², heads]
  nn::FeedForward feed_forward_;
  SwinWindows windows_;
  std::int64_t shift_;
  float drop_path_;
};

// Four neighbours side by side, their norm, and a projection to twice the width: [B, side · side, C] ->
// [B, ⌈side / 2⌉², 2 C].
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
  std::optional<SwinMerging> merging_;  // of all stages but the last
};

class Swin {
 public:
  using Config = SwinConfig;
  static constexpr std::string_view kPrefix = "swin", kHead = "classifier";
  explicit Swin(const SwinConfig& config);
  const SwinConfig& config() const { return config_; }
  Json json() const { return swin_json(config_); }
  Extent2 size() const { return {config_.image_size, config_.image_size}; }
  std::int64_t width() const { return config_.width_of(config_.stages() - 1); }

  // pixels [B, H, W, C] -> patches [B, side · side, width of the first stage].
  Tensor embed(const Tensor& pixels) const;
  // The last stage's, after the last norm. hidden gets the patches and what each stage hands on.
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // The mean of the places, [B, width].
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
