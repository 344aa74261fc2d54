// "End-to-End Object Detection with Transformers" (Carion et al. 2020, section 3.2). A ResNet turns an image into a
// grid, and a Transformer encoder reads its places. The decoder turns Q learned queries into Q boxes with class scores;
// most of them say "no object". Position encodings are added to the queries and keys of every attention, but never to
// the values. Parameters carry the names of Hugging Face's files.
//
//   pixels [B, H, W, channels] -> backbone -> grid [B, H/32, W/32, backbone width] -> encoder -> memory [B, S, C]
//   queries [Q, C], memory -> decoder -> states [B, Q, C] -> logits [B, Q, labels + 1], boxes [B, Q, 4]
//
//   const PositionLayout places = model.places(backend, dtype, {H, W}, sizes);   // sizes of images padded to H x W
//   const DetrOutput found = model.detect(pass.input(pixels), places);           // logits and boxes
//
// S counts the places of a grid. detr_loss.h is for training.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/resnet.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/layers.h"
#include "attend/nn/residual.h"
#include "attend/tensor/attention_mask.h"

namespace attend::models {

struct DetrConfig {
  ResNetConfig backbone = {};
  // A name such as "resnet50" means a timm backbone (use_timm_backbone) with timm's parameter names. Empty means
  // transformers' own ResNet (backbone_config).
  std::string timm_backbone = {};
  std::int64_t queries = 100, width = 256;
  std::int64_t encoder_layers = 6, encoder_heads = 8, encoder_hidden = 2048;
  std::int64_t decoder_layers = 6, decoder_heads = 8, decoder_hidden = 2048;
  std::string activation = "relu";
  float dropout = 0.1f, attention_dropout = 0;
  // With auxiliary losses, transformers' decoder normalises the stream itself after every layer. The paper's decoder
  // only reads the norm. The numbers differ, so this setting belongs to the model. Training on the outputs of all
  // layers does not depend on it.
  bool auxiliary_loss = false;
  // Weights of the matching cost and of the loss (section 3.1).
  float class_cost = 1, box_cost = 5, giou_cost = 2;
  float box_loss = 5, giou_loss = 2;
  float no_object = 0.1f;  // weight of the class "no object" in the loss

  // Not read from the file: the backbone's norms keep their running statistics in training. This is usual for a
  // pretrained backbone; training from scratch must not do it.
  bool frozen_norms = true;
  std::string architecture = {};
  std::vector<std::string> labels = {};

  // The last class is "no object".
  std::int64_t classes() const { return static_cast<std::int64_t>(labels.size()) + 1; }

  // Field names follow config.json.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("num_queries", queries, "the most objects of an image");
    v("d_model", width, "of the model");
    v("encoder_layers", encoder_layers, "how many");
    v("encoder_attention_heads", encoder_heads, "of attention; they divide the width");
    v("encoder_ffn_dim", encoder_hidden, "width inside the feed-forward layers");
    v("decoder_layers", decoder_layers, "how many");
    v("decoder_attention_heads", decoder_heads, "of attention; they divide the width");
    v("decoder_ffn_dim", decoder_hidden, "width inside the feed-forward layers");
    v("activation_function", activation, "of the feed-forward layers");
    v("dropout", dropout, "of what each sublayer adds");
    v("attention_dropout", attention_dropout, "of attention weights");
    v("auxiliary_loss", auxiliary_loss, "the decoder's stream is normalised behind every layer");
    v("class_cost", class_cost, "of matching: how little a query believes in an object's label");
    v("bbox_cost", box_cost, "of matching: the L1 distance of boxes");
    v("giou_cost", giou_cost, "of matching: their GIoU");
    v("bbox_loss_coefficient", box_loss, "of the L1 distance");
    v("giou_loss_coefficient", giou_loss, "of the GIoU");
    v("eos_coefficient", no_object, "how much a query without an object counts");
  }
};

void check_config(const DetrConfig& config, std::string_view what);
// From a config.json whose model_type is "detr", and back.
DetrConfig detr_config(const Json& config, std::string_view what);
Json detr_json(const DetrConfig& config);

// Positions of the grid's places. Images of a batch are padded to one size, at the right and at the bottom. Attention
// knows no order, so the places of the image itself are moved to the front, and lengths hide the rest.
struct PositionLayout {
  Tensor positions;  // [B, S, C], in the order below
  // Both are undefined for a single image, which has no padding.
  Tensor order;    // i32 [B·S]: the row of the grids that comes here
  Tensor lengths;  // i32 [B]: how many places of each image are not padding
};

// Predictions, all f32. A box is centre x, centre y, width and height, as fractions of the image without its padding.
struct DetrOutput {
  Tensor logits;  // [B, Q, labels + 1], or [L, B, Q, labels + 1] for all layers
  Tensor boxes;   // [B, Q, 4], or [L, B, Q, 4]
};

// Multi-head attention whose caller adds positions to query and key, but not to value (appendix A.3). query [B, T, C],
// key and value [B, S, C] -> [B, T, C]
class DetrAttention {
 public:
  struct Config {
    std::int64_t width, heads;
    float dropout = 0;
    std::string label = {};
  };
  explicit DetrAttention(Config config);
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionMask& mask) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("q_proj", query_), v("k_proj", key_), v("v_proj", value_), v("out_proj", output_);
  }

 private:
  Config config_;
  nn::Linear query_, key_, value_, output_;
};

// Figure 10, left: self-attention over the places of the grid. The stream stays [B, S, C].
class DetrEncoderLayer {
 public:
  DetrEncoderLayer(const DetrConfig& config, std::int64_t index);
  void operator()(nn::Residual& stream, const PositionLayout& places) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("self_attn", attention_), v("self_attn_layer_norm", norm1_), v("", feed_forward_), v("final_layer_norm", norm2_);
  }

 private:
  DetrAttention attention_;
  nn::FeedForward feed_forward_;
  nn::LayerNorm norm1_, norm2_;
};

// What the decoder attends to: the encoder's states, and the same plus positions.
struct DetrMemory {
  Tensor states, placed;  // [B, S, C]
  AttentionMask mask;
};

// Figure 10, right: attention among the queries, then from the queries to the image. The stream stays [B, Q, C].
class DetrDecoderLayer {
 public:
  DetrDecoderLayer(const DetrConfig& config, std::int64_t index);
  void operator()(nn::Residual& stream, const Tensor& queries, const DetrMemory& memory) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("self_attn", attention_), v("self_attn_layer_norm", norm1_);
    v("encoder_attn", cross_), v("encoder_attn_layer_norm", norm2_);
    v("", feed_forward_), v("final_layer_norm", norm3_);
  }

 private:
  DetrAttention attention_, cross_;
  nn::FeedForward feed_forward_;
  nn::LayerNorm norm1_, norm2_, norm3_;
};

// The whole model: backbone, encoder, decoder and prediction heads.
class Detr {
 public:
  static constexpr std::string_view kBackbone = "model.backbone.conv_encoder.model";  // prefix of its parameters
  explicit Detr(const DetrConfig& config);
  const DetrConfig& config() const { return config_; }
  std::vector<nn::Parameters::Entry> parameters();
  // Call it once the weights are loaded, for inference only (nn::ConvNorm::fold).
  void fold() { nn::fold_norms(*this); }

  // The layout for images of these sizes, padded to one size.
  PositionLayout places(Backend& backend, DType dtype, const Extent2& padded, std::span<const Extent2> sizes) const;
  // The same, written into the tensors of an earlier layout for as many images, padded to the same size. A captured
  // graph reads them there.
  void put_places(const PositionLayout& to, const Extent2& padded, std::span<const Extent2> sizes) const;
  Extent2 grid_size(const Extent2& padded) const { return backbone_.grid_size(padded); }
  // How many rows and columns of that grid show an image of this size. Its places come first, row by row.
  Extent2 own_grid(const Extent2& padded, const Extent2& size) const;

  // pixels [B, H, W, channels], zero in the padding.
  DetrOutput detect(const Tensor& pixels, const PositionLayout& places) const;
  // The predictions of every decoder layer, [L, B, Q, ..]; those of the last layer come last.
  DetrOutput detect_by_layers(const Tensor& pixels, const PositionLayout& places) const;

  DetrMemory encode(const Tensor& pixels, const PositionLayout& places) const;
  std::vector<Tensor> decode(const DetrMemory& memory) const;  // [B, Q, C] of each layer, normalised
  DetrOutput judge(const Tensor& states) const;                // the prediction heads on such states

  // Reorders weights of cross-attention, [.., S] per image, from the order of `places` to the order of the grid.
  static std::vector<float> by_grid(std::span<const float> weights, const PositionLayout& places);
  static std::string attention_label(std::int64_t layer);        // self-attention of the encoder
  static std::string cross_attention_label(std::int64_t layer);  // cross-attention of the decoder to the image

  template <class Visitor>
  void visit(Visitor&& v) {
    v(kBackbone, backbone_), v("model.input_projection", projection_);
    v("model.query_position_embeddings", queries_);
    v("model.encoder.layers", encoder_), v("model.decoder.layers", decoder_), v("model.decoder.layernorm", norm_);
    v("class_labels_classifier", classifier_), v("bbox_predictor.layers", box_layers_);
  }

 private:
  DetrConfig config_;
  ResNet backbone_;
  nn::Conv2d projection_;
  nn::Embedding queries_;
  std::vector<DetrEncoderLayer> encoder_;
  std::vector<DetrDecoderLayer> decoder_;
  nn::LayerNorm norm_;
  nn::Linear classifier_;
  std::vector<nn::Linear> box_layers_;
};

}  // namespace attend::models
