// "MViTv2: Improved Multiscale Vision Transformers for Classification and Detection" (Li et al. 2022, section 3).
// Queries, keys and values are pooled over the image before attention, so that a stage can begin with fewer places and
// more channels. Scores get a bias for the distance of query and key: the query times a vector for the rows between
// them, plus the query times a vector for the columns (section 3.1).
//
//   pixels [B, H, W, channels] -> patches [B, side², C] -> stages -> states [B, places, C] -> features [B, C]
//
// MViT, the first version (Fan et al. 2021, "Multiscale Vision Transformers"), is the same with other settings: a class
// token, learned absolute positions of space instead of relative ones (for video a table of time is added to them,
// hence "separable"), no residual pooling, queries pooled only where the grid shrinks, and wider feed-forward layers in
// front of a stage instead of wider attention in it. Its tokens are [B, 1 + side², C].
//
// Stages shrink the side and widen C. Parameters carry the names of timm's files (MultiScaleVit).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/image_classifier.h"
#include "attend/nn/convolution.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/fixed_table.h"
#include "attend/nn/layers.h"
#include "attend/nn/residual.h"

namespace attend::models {

struct MViTConfig {
  std::int64_t image_size = 224, channels = 3;
  std::int64_t patch_kernel = 7, patch_stride = 4, patch_padding = 3, pool_kernel = 3;
  std::vector<std::int64_t> depths = {2, 3, 16, 3}, widths = {96, 192, 384, 768}, heads = {1, 2, 4, 8};
  std::vector<std::int64_t> query_strides = {1, 2, 2, 2};  // strides of each stage's first layer
  // Stride of keys and values in the first stage. In later stages the strides of the queries divide it.
  std::int64_t key_stride = 4;
  float feed_forward = 4;
  bool expand_attention = true;  // a stage widens in its first attention, else in the feed-forward before it
  bool residual_pooling = true;  // attention adds the pooled queries to its result
  bool class_token = false, absolute_positions = false, relative_positions = true;
  bool pool_all_queries = true;  // else only where the grid shrinks
  float drop_path = 0, norm_eps = 1e-6f, init_deviation = 0.02f;

  std::string architecture = {};  // "MViTForImageClassification" is our own name
  std::vector<std::string> labels = {};
  ProblemType problem = ProblemType::single_label;  // what the scores of labels mean

  std::int64_t tokens() const { return class_token ? 1 : 0; }
  std::int64_t stages() const { return static_cast<std::int64_t>(depths.size()); }
  std::int64_t layers() const;

  // Field names follow config.json, where timm names these settings. depths, embed_dim, num_heads, stride_q and
  // stride_kv_adaptive are lists and are read apart.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("image_size", image_size, "height and width of the images");
    v("in_chans", channels, "of the images");
    v("patch_kernel", patch_kernel, "height and width of what becomes one place");
    v("patch_stride", patch_stride, "from one place to the next; divides the image's size");
    v("patch_padding", patch_padding, "around the image");
    v("kernel_qkv", pool_kernel, "height and width of what is pooled");
    v("mlp_ratio", feed_forward, "width inside the feed-forward layers, as a multiple of the layer's");
    v("expand_attn", expand_attention, "whether a stage's width begins with attention");
    v("residual_pooling", residual_pooling, "whether attention adds the pooled queries");
    v("drop_path_rate", drop_path, "stochastic depth: how often the last layer is left out, the others less");
    v("norm_eps", norm_eps, "added to variances");
    v("initializer_range", init_deviation, "deviation of the weights a new model starts from");
  }
};

// The keys of config.json in which the first version differs from the second, with the depths of MViT-B for images.
Json mvit_v1_json();
void check_config(const MViTConfig& config, std::string_view what);
// From a config.json whose model_type is "mvit", and back.
MViTConfig mvit_config(const Json& config, std::string_view what);
Json mvit_json(const MViTConfig& config);

// The sizes of one layer: widths, the side of its grid, strides.
struct MViTLayerShape {
  std::string label;  // for example "stage.1.layer.0"
  std::int64_t in, attention, out, heads;
  std::int64_t side, query_stride, key_stride;  // of the input grid
  float drop_path;

  std::int64_t queries() const { return side / query_stride; }  // side of the grid of queries
  std::int64_t keys() const { return side / key_stride; }
};
std::vector<std::vector<MViTLayerShape>> mvit_layers(const MViTConfig& config);

// Pools queries, keys or values of all heads, [B, side², H·D] -> [B, (side / stride)², H·D]. It is a depthwise
// convolution whose weight all heads share, and a norm of each head. A class token is only normed.
class MViTPooling {
 public:
  MViTPooling(const MViTConfig& config, const MViTLayerShape& shape, std::int64_t stride);
  Tensor operator()(const Tensor& x) const;

  nn::Parameter weight;  // [D, kernel, kernel, 1]
  nn::LayerNorm norm;

 private:
  std::int64_t side_, stride_, tokens_;
  nn::FixedTable<std::int32_t> channels_;  // [H·D]: 0 .. D - 1, repeated for each head
};

// Pooling attention with relative positions and residual pooling (figure 2 of the paper).
class MViTAttention {
 public:
  MViTAttention(const MViTConfig& config, const MViTLayerShape& shape);
  // x [B, side², in] -> [B, queries², attention]
  Tensor operator()(const Tensor& x) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("qkv", qkv_), v("proj", output_);
    if (query_) v("pool_q.weight", query_->weight), v("norm_q", query_->norm);
    v("pool_k.weight", key_.weight), v("norm_k", key_.norm);
    v("pool_v.weight", value_.weight), v("norm_v", value_.norm);
    if (relative_) v("rel_pos_h", down_), v("rel_pos_w", across_);
  }

 private:
  // The bias of the scores, [B, H, queries², keys²] (equation 4).
  Tensor distance_bias(const Tensor& q) const;

  MViTLayerShape shape_;
  bool residual_pooling_, relative_;
  nn::Linear qkv_, output_;
  std::optional<MViTPooling> query_;
  MViTPooling key_, value_;
  nn::Parameter down_, across_;             // [distances, D]: vectors for rows and for columns
  nn::FixedTable<std::int32_t> distances_;  // [queries · keys]: row of these tables for two rows or two columns
  nn::FixedTable<float> spread_;            // [keys², 2 · keys]: marks the row and the column of each key
};

// x + attention(norm(x)), then x + feed_forward(norm(x)). Where the grid shrinks, x on the shortcut is pooled; where
// the width changes, the shortcut carries a projection of the norm instead.
class MViTLayer {
 public:
  MViTLayer(const MViTConfig& config, const MViTLayerShape& shape);
  void operator()(nn::Residual& stream) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("norm1", norm1_), v("attn", attention_), v("norm2", norm2_), v("mlp", feed_forward_);
    if (wider_attention_) v("shortcut_proj_attn", *wider_attention_);
    if (wider_feed_forward_) v("shortcut_proj_mlp", *wider_feed_forward_);
  }

 private:
  Tensor pooled(const Tensor& x) const;

  MViTLayerShape shape_;
  std::int64_t tokens_;
  nn::LayerNorm norm1_, norm2_;
  MViTAttention attention_;
  nn::FeedForward feed_forward_;
  std::optional<nn::Linear> wider_attention_, wider_feed_forward_;
};

// Layers of one width. The first of them pools the grid.
class MViTStage {
 public:
  MViTStage(const MViTConfig& config, const std::vector<MViTLayerShape>& layers);
  void operator()(nn::Residual& stream) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("blocks", layers_);
  }

 private:
  std::vector<MViTLayer> layers_;
};

// The body: everything but the classifier.
class MViT {
 public:
  using Config = MViTConfig;
  static constexpr std::string_view kPrefix = "", kHead = "head.fc";
  explicit MViT(const MViTConfig& config);
  const MViTConfig& config() const { return config_; }
  Json json() const { return mvit_json(config_); }
  Extent2 size() const { return {config_.image_size, config_.image_size}; }
  std::int64_t width() const { return config_.widths.back(); }

  // States after the last norm, [B, places, C]; of the first version [B, 1 + places, C]. hidden receives the patches
  // and the output of each stage.
  Tensor states(const Tensor& pixels, std::vector<Tensor>* hidden = nullptr) const;
  // The mean over all places, or the class token, [B, C].
  Tensor features(const Tensor& states) const;
  std::vector<AttentionPlace> attention_places() const;

  template <class Visitor>
  void visit(Visitor&& v) {
    if (config_.class_token) v("cls_token", class_token_);
    if (config_.absolute_positions) v("pos_embed", positions_);
    v("patch_embed.proj", patches_), v("stages", stages_), v("norm", norm_);
  }

 private:
  MViTConfig config_;
  nn::Parameter class_token_, positions_;  // [1, 1, C], [1, tokens + side², C]
  nn::Conv2d patches_;
  std::vector<MViTStage> stages_;
  nn::LayerNorm norm_;
};

using MViTClassifier = ImageClassifier<MViT>;

}  // namespace attend::models
