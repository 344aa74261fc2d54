// "End-to-End Object Detection with Transformers" (Carion et al. 2020): a ResNet makes a grid of an image, a
// Transformer's encoder reads its places, and its decoder turns a fixed number of learned queries into as many boxes
// with scores of labels, most of them "no object". What a query is about and where a place lies is added to the queries
// and keys of every attention, and to no values. Parameters have the names of Hugging Face's files.
//
//   const PositionLayout places = model.places(backend, dtype, {H, W}, sizes);       // of images padded to H x W
//   const DetrOutput found = model.detect(pass.input(pixels), places);           // logits and boxes
//
// Training is detr_loss.h's.
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
  // "resnet50": the backbone is timm's (use_timm_backbone), and its parameters have timm's names; empty: transformers'
  // own ResNet (backbone_config).
  std::string timm_backbone = {};
  std::int64_t queries = 100, width = 256;
  std::int64_t encoder_layers = 6, encoder_heads = 8, encoder_hidden = 2048;
  std::int64_t decoder_layers = 6, decoder_heads = 8, decoder_hidden = 2048;
  std::string activation = "relu";
  float dropout = 0.1f, attention_dropout = 0;
  // transformers' decoder with auxiliary losses normalises the stream itself behind every layer, where the paper's
  // only reads its norm: other numbers, so it belongs to the model. (Learning from all layers does not
  // depend on it.)
  bool auxiliary_loss = false;
  // What matching goes by, and what is learned: section 3.1.
  float class_cost = 1, box_cost = 5, giou_cost = 2;
  float box_loss = 5, giou_loss = 2;
  float no_object = 0.1f;  // the weight of its class

  // Not of the file: the backbone's norms keep their statistics while the model learns, as is usual from a pretrained
  // one; from scratch they must not.
  bool frozen_norms = true;
  std::string architecture = {};
  std::vector<std::string> labels = {};

  std::int64_t classes() const { return static_cast<std::int64_t>(labels.size()) + 1; }  // the last: no object

  // By the keys of config.json.
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

// Where the places of the grids lie. Images of a batch are padded to one size, at the right and below; attention
// knows no order, so the places of the image itself come first, and the lengths hide the rest.
struct PositionLayout {
  Tensor positions;  // [B, S, width], in the order below
  // Of a single image undefined: nothing is padded.
  Tensor order;    // i32 [B · S]: which row of the grids
  Tensor lengths;  // i32 [B]
};

// All f32. Boxes are centre x, centre y, width, height, in parts of the image (without its
// padding).
struct DetrOutput {
  Tensor logits;  // [B, Q, labels + 1], or [L, B, Q, ..]
  Tensor boxes;   // [B, Q, 4], likewise
};

// Attention with positions: queries and keys are read with them, values without.
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

// What the decoder reads: the encoder's states, and the same with positions.
struct DetrMemory {
  Tensor states, placed;  // [B, S, width]
  AttentionMask mask;
};

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

class Detr {
 public:
  static constexpr std::string_view kBackbone = "model.backbone.conv_encoder.model";  // what its names begin with
  explicit Detr(const DetrConfig& config);
  const DetrConfig& config() const { return config_; }
  std::vector<nn::Parameters::Entry> parameters();
  // Of a model that is only run, once its weights are in place (nn::ConvNorm::fold).
  void fold() { nn::fold_norms(*this); }

  // Of images of these sizes, padded to one.
  PositionLayout places(Backend& backend, DType dtype, const Extent2& padded, std::span<const Extent2> sizes) const;
  // The same into the memory of others of as many images, padded to the same size.
  void put_places(const PositionLayout& to, const Extent2& padded, std::span<const Extent2> sizes) const;
  Extent2 grid_size(const Extent2& padded) const { return backbone_.grid_size(padded); }
  // How many rows and columns of that grid show an image of this size: its places come first, row by row.
  Extent2 own_grid(const Extent2& padded, const Extent2& size) const;

  // pixels [B, H, W, C], zero where they are padding.
  DetrOutput detect(const Tensor& pixels, const PositionLayout& places) const;
  // What every layer of the decoder would answer, [L, B, Q, ..], the last last.
  DetrOutput detect_by_layers(const Tensor& pixels, const PositionLayout& places) const;

  DetrMemory encode(const Tensor& pixels, const PositionLayout& places) const;
  std::vector<Tensor> decode(const DetrMemory& memory) const;  // [B, Q, width] of each layer, normalised
  DetrOutput judge(const Tensor& states) const;                // by the heads, of such states

  // Weights of cross attention, [.., S] of each image in turn, by the places of the grid instead of in the order of
  // `places`.
  static std::vector<float> by_grid(std::span<const float> weights, const PositionLayout& places);
  static std::string attention_label(std::int64_t layer);        // of the encoder
  static std::string cross_attention_label(std::int64_t layer);  // of the decoder, on the image

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
