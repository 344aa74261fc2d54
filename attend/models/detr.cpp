// DETR (Carion et al. 2020, section 3.2): reading its config.json, and the forward pass. S places of the grid, Q
// queries.
#include "attend/models/detr.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/models/timm_resnet.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::models {

namespace {

constexpr int kBoxLayers = 3;

ResNetConfig backbone_of(const DetrConfig& config) {
  ResNetConfig backbone = config.backbone;
  backbone.frozen_norms = config.frozen_norms;
  return backbone;
}

nn::FeedForward feed_forward(const DetrConfig& config, std::int64_t hidden, std::string label) {
  return nn::FeedForward({.width = config.width,
                          .hidden = hidden,
                          .activation = hugging_face_activation(config.activation, "detr"),
                          .label = std::move(label),
                          .expand_name = "fc1",
                          .contract_name = "fc2"});
}

constexpr std::int64_t kDilatedStride = 16;  // pixels per place when the last stage is dilated (DC5)

// Looks up timm's ResNet of this name.
void read_timm_backbone(DetrConfig& config, const Json& name, std::string_view what) {
  check(name.is_string(), "{}: 'backbone' must be the name of a timm model, not {}", what, name.dump());
  const std::optional<ResNetConfig> known = timm_resnet(name.text());
  check(known.has_value(), "{}: the backbone '{}' is not known; known are timm's {}", what, name.text(), kTimmResNets);
  config.backbone = *known, config.timm_backbone = name.text();
}

// Reads the backbone's settings from DETR's own config, from its backbone_kwargs, or from a backbone_config.
void read_timm_settings(DetrConfig& config, const Json& keys, std::string_view what) {
  check(keys.is_object(), "{}: expected a JSON object", what);
  const auto given = [&](const char* key) {
    const auto found = keys.find(key);
    return found == keys.end() || found->is_null() ? nullptr : &*found;
  };
  for (const char* key : {"num_channels", "in_chans"})
    if (const Json* channels = given(key)) {
      check(channels->is_number_integer(), "{}: '{}' must be a number, not {}", what, key, channels->dump());
      config.backbone.channels = channels->get<std::int64_t>();
    }
  if (const Json* dilation = given("dilation")) {
    check(dilation->is_boolean(), "{}: 'dilation' is {}, not true or false", what, dilation->dump());
    if (dilation->get<bool>()) config.backbone.output_stride = kDilatedStride;
  }
  if (const Json* stride = given("output_stride")) {
    check(stride->is_number_integer() && (*stride == Json(kDilatedStride) || *stride == Json(32)),
          "{}: 'output_stride' is {}; 16 and 32 are known", what, stride->dump());
    config.backbone.output_stride = stride->get<std::int64_t>();
  }
  if (const Json* indices = given("out_indices"))
    check(indices->is_array() && !indices->empty() && (indices->back() == Json(4) || indices->back() == Json(-1)),
          "{}: 'out_indices' is {}; DETR reads the last stage, 4", what, indices->dump());
  if (const Json* features = given("features_only"))
    check(*features == Json(true), "{}: 'features_only' is {}; only true is known", what, features->dump());
}

// Reads the config of transformers' own ResNet, of which DETR uses the last stage.
void read_own_backbone(DetrConfig& config, const Json& json, std::string_view what) {
  config.backbone = resnet_config(json, what);
  config.backbone.labels.clear();
  const std::string last = fmt::format("stage{}", config.backbone.depths.size());
  const auto features = json.find("out_features");
  check(features == json.end() || features->is_null() ||
            (features->is_array() && !features->empty() && features->back() == Json(last)),
        "{}: 'out_features' is {}; DETR reads the last stage, {}", what, features == json.end() ? "" : features->dump(),
        last);
}

// There are three kinds of files. transformers 4 has use_timm_backbone with the name of a timm model. Version 5 has a
// backbone_config of type timm_backbone. Both also have a backbone_config of type resnet for transformers' own ResNet.
void read_backbone(DetrConfig& config, const Json& json, std::string_view what) {
  const Json none;
  const auto given = [&](const Json& in, const char* key) -> const Json& {
    const auto found = in.find(key);
    return found == in.end() ? none : *found;
  };
  const Json &own = given(json, "backbone_config"), &timm = given(json, "use_timm_backbone");
  check(timm.is_null() || timm.is_boolean(), "{}: 'use_timm_backbone' is {}, not true or false", what, timm.dump());
  if (!own.is_null()) {
    const std::string place = fmt::format("{}: backbone_config", what);
    check(own.is_object(), "{}: expected a JSON object", place);
    if (given(own, "model_type") == Json("timm_backbone")) {
      read_timm_backbone(config, given(own, "backbone"), place);
      return read_timm_settings(config, own, place);
    }
    require_flag(json, "dilation", false, what);
    return read_own_backbone(config, own, place);
  }
  check(!(timm == Json(false)), "{}: 'use_timm_backbone' is false, but there is no 'backbone_config'", what);
  const Json& name = given(json, "backbone");
  read_timm_backbone(config, name.is_null() ? Json("resnet50") : name, what);
  read_timm_settings(config, json, what);
  if (const Json& more = given(json, "backbone_kwargs"); !more.is_null())
    read_timm_settings(config, more, fmt::format("{}: backbone_kwargs", what));
}

Tensor as_f32(const Tensor& x) { return x.dtype() == DType::f32 ? x : ops::cast(x, DType::f32); }

}  // namespace

void check_config(const DetrConfig& config, std::string_view what) {
  check_config(config.backbone, what);
  check_limited(what, "num_queries", config.queries, 1, limits::kMostPositions);
  check_limited(what, "d_model", config.width, 8, limits::kWidestModel);
  check(config.width % 4 == 0, "{}: d_model is {}; the sines of heights and widths need a multiple of 4", what,
        config.width);
  check_limited(what, "encoder_layers", config.encoder_layers, 1, limits::kMostLayers);
  check_limited(what, "decoder_layers", config.decoder_layers, 1, limits::kMostLayers);
  check_limited(what, "encoder_ffn_dim", config.encoder_hidden, 1, limits::kWidestFeedForward);
  check_limited(what, "decoder_ffn_dim", config.decoder_hidden, 1, limits::kWidestFeedForward);
  check_heads(what, config.width, config.encoder_heads);
  check_heads(what, config.width, config.decoder_heads);
  check_rate(what, "dropout", config.dropout);
  check_rate(what, "attention_dropout", config.attention_dropout);
  check_positive(what, "class_cost", config.class_cost);
  check_positive(what, "bbox_cost", config.box_cost);
  check_positive(what, "giou_cost", config.giou_cost);
  check_positive(what, "bbox_loss_coefficient", config.box_loss);
  check_positive(what, "giou_loss_coefficient", config.giou_loss);
  check_positive(what, "eos_coefficient", config.no_object);
  hugging_face_activation(config.activation, what);
  const ModelSize encoder{.rows = config.queries + config.backbone.hidden_sizes.back(),
                          .width = config.width,
                          .layers = config.encoder_layers,
                          .hidden = config.encoder_hidden};
  const ModelSize decoder{
      .width = config.width, .layers = config.decoder_layers, .hidden = config.decoder_hidden, .attentions = 2};
  check_size(what, encoder.parameters() + decoder.parameters());
}

DetrConfig detr_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  const auto type = json.find("model_type");
  check(type != json.end() && *type == "detr", "{}: 'model_type' must be detr, not {}", what,
        type == json.end() ? "missing" : type->dump());
  DetrConfig config;
  read_known_fields(config, json, what);
  read_backbone(config, json, what);
  const auto positions = json.find("position_embedding_type");
  check(positions == json.end() || positions->is_null() || *positions == "sine",
        "{}: position_embedding_type is {}; only sine is known", what,
        positions == json.end() ? "" : positions->dump());
  config.architecture = architecture_of(json, what);
  // From a segmentation model only the detector is read, so it is written back as a detector.
  if (config.architecture == "DetrForSegmentation") config.architecture = "DetrForObjectDetection";
  config.labels = labels_of(json, what);
  check_config(config, what);
  return config;
}

// A timm backbone is written so that transformers 4 and 5 both read it. use_pretrained_backbone would make version 4
// download other weights first.
Json detr_json(const DetrConfig& config) {
  Json json = {{"model_type", "detr"}};
  if (!config.architecture.empty()) json["architectures"] = Json::array({config.architecture});
  json.update(write_fields(config));
  const bool timm = !config.timm_backbone.empty();
  json["use_timm_backbone"] = timm, json["dilation"] = config.backbone.output_stride == kDilatedStride;
  json["backbone"] = timm ? Json(config.timm_backbone) : Json();
  json["backbone_config"] = timm ? Json() : resnet_json(config.backbone);
  if (timm) json["use_pretrained_backbone"] = false;
  json["num_channels"] = config.backbone.channels;
  json["position_embedding_type"] = "sine", json["is_encoder_decoder"] = true;
  write_labels(json, config.labels);
  return json;
}

DetrAttention::DetrAttention(Config config)
    : config_(std::move(config)),
      query_(config_.width, config_.width),
      key_(config_.width, config_.width),
      value_(config_.width, config_.width),
      output_(config_.width, config_.width) {}

Tensor DetrAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const AttentionMask& mask) const {
  // Projections are [B, T, C] and [B, S, C]; the heads' results lie side by side, [B, T, C].
  const Tensor mixed =
      ops::attention(query_(query), key_(key), value_(value),
                     {.heads = config_.heads, .mask = mask, .dropout = config_.dropout, .label = config_.label});
  return output_(mixed);  // [B, T, C]
}

DetrEncoderLayer::DetrEncoderLayer(const DetrConfig& config, std::int64_t index)
    : attention_({.width = config.width,
                  .heads = config.encoder_heads,
                  .dropout = config.attention_dropout,
                  .label = Detr::attention_label(index)}),
      feed_forward_(feed_forward(config, config.encoder_hidden, fmt::format("encoder.{}.feed_forward", index))),
      norm1_(config.width),
      norm2_(config.width) {}

void DetrEncoderLayer::operator()(nn::Residual& stream, const PositionLayout& places) const {
  stream.through(Recompute::layer, [this, places](nn::Residual& x) {
    const Tensor value = x.value(), placed = ops::add(value, places.positions);         // [B, S, C]
    x.add(attention_(placed, placed, value, {.key_lengths = places.lengths}), norm1_);  // [B, S, C]
    // [B, S, C] -> [B, S, hidden] -> [B, S, C]
    x.through(Recompute::feed_forward, [this](nn::Residual& y) { y.add(feed_forward_(y), norm2_); });
  });
}

DetrDecoderLayer::DetrDecoderLayer(const DetrConfig& config, std::int64_t index)
    : attention_({.width = config.width,
                  .heads = config.decoder_heads,
                  .dropout = config.attention_dropout,
                  .label = fmt::format("decoder.{}.attention", index)}),
      cross_({.width = config.width,
              .heads = config.decoder_heads,
              .dropout = config.attention_dropout,
              .label = Detr::cross_attention_label(index)}),
      feed_forward_(feed_forward(config, config.decoder_hidden, fmt::format("decoder.{}.feed_forward", index))),
      norm1_(config.width),
      norm2_(config.width),
      norm3_(config.width) {}

void DetrDecoderLayer::operator()(nn::Residual& stream, const Tensor& queries, const DetrMemory& memory) const {
  stream.through(Recompute::layer, [this, queries, memory](nn::Residual& x) {
    const Tensor value = x.value(), asking = ops::add(value, queries);                               // [B, Q, C]
    x.add(attention_(asking, asking, value, {}), norm1_);                                            // [B, Q, C]
    x.add(cross_(ops::add(x.value(), queries), memory.placed, memory.states, memory.mask), norm2_);  // [B, Q, C]
    // [B, Q, C] -> [B, Q, hidden] -> [B, Q, C]
    x.through(Recompute::feed_forward, [this](nn::Residual& y) { y.add(feed_forward_(y), norm3_); });
  });
}

Detr::Detr(const DetrConfig& config)
    : config_((check_config(config, "detr"), config)),
      backbone_(backbone_of(config)),
      projection_(backbone_.width(), config.width,
                  {.kernel = {1, 1}, .init = nn::Init::xavier(backbone_.width(), config.width)}),
      queries_(config.queries, config.width, {nn::Init::normal, 1.0f}, nn::Role::other),
      norm_(config.width),
      classifier_(config.width, config.classes()) {
  for (std::int64_t i = 0; i < config.encoder_layers; ++i) encoder_.emplace_back(config_, i);
  for (std::int64_t i = 0; i < config.decoder_layers; ++i) decoder_.emplace_back(config_, i);
  for (int i = 0; i < kBoxLayers; ++i) box_layers_.emplace_back(config.width, i + 1 < kBoxLayers ? config.width : 4);
}

std::vector<nn::Parameters::Entry> Detr::parameters() {
  std::vector<nn::Parameters::Entry> entries = nn::Parameters::list(*this);
  if (config_.timm_backbone.empty()) return entries;
  const std::string before = std::string(kBackbone) + ".";
  for (nn::Parameters::Entry& entry : entries)
    if (entry.name.starts_with(before))
      entry.name = before + timm_resnet_name(std::string_view(entry.name).substr(before.size()));
  return entries;
}

std::string Detr::attention_label(std::int64_t layer) { return fmt::format("encoder.{}.attention", layer); }
std::string Detr::cross_attention_label(std::int64_t layer) { return fmt::format("decoder.{}.cross_attention", layer); }

DetrMemory Detr::encode(const Tensor& pixels, const PositionLayout& places) const {
  const Tensor grid = projection_(backbone_.grid(pixels));                   // [B, H', W', C]
  const Shape shape{grid.dim(0), grid.dim(1) * grid.dim(2), config_.width};  // [B, S, C], S = H'·W'
  check(places.positions.shape() == shape, "detr: the grid of images {} is {}, but the places are of {}",
        pixels.shape(), shape, places.positions.shape());
  const Tensor rows = grid.reshape({-1, config_.width});  // [B·S, C]
  // Places of the image come first, so that a length per image hides the padding.
  nn::Residual stream((places.order.defined() ? ops::gather(rows, places.order) : rows).reshape(shape),
                      {.dropout = config_.dropout});
  for (const DetrEncoderLayer& layer : encoder_) layer(stream, places);
  const Tensor states = stream.value();  // [B, S, C]
  return {states, ops::add(states, places.positions), {.key_lengths = places.lengths}};
}

std::vector<Tensor> Detr::decode(const DetrMemory& memory) const {
  // The stream starts at zero; what a query is about enters through its learned embedding in every layer.
  const Tensor start = like(memory.states, {memory.states.dim(0), config_.queries, config_.width});
  start.backend().fill(start, 0);  // [B, Q, C]
  nn::Residual stream(start, {.dropout = config_.dropout});
  std::vector<Tensor> states;
  for (const DetrDecoderLayer& layer : decoder_) {
    layer(stream, queries_.table(), memory);
    states.push_back(norm_(stream.value()));  // [B, Q, C]
    if (config_.auxiliary_loss) stream = nn::Residual(states.back(), {.dropout = config_.dropout});
  }
  if (config_.auxiliary_loss) states.back() = norm_(states.back());
  return states;
}

DetrOutput Detr::judge(const Tensor& states) const {
  // A network of three layers predicts the boxes, one projection the classes (section 3.2).
  Tensor boxes = states;
  for (const nn::Linear& layer : box_layers_)
    boxes = layer(boxes, &layer == &box_layers_.back() ? Activation::none : Activation::relu);
  // Logits [.., Q, labels + 1], and boxes [.., Q, 4] between 0 and 1.
  return {as_f32(classifier_(states)), ops::sigmoid(as_f32(boxes))};
}

DetrOutput Detr::detect(const Tensor& pixels, const PositionLayout& places) const {
  return judge(decode(encode(pixels, places)).back());
}

DetrOutput Detr::detect_by_layers(const Tensor& pixels, const PositionLayout& places) const {
  const std::vector<Tensor> states = decode(encode(pixels, places));
  // L tensors [B, Q, C] become one, [L·B, Q, C], so that the heads run once.
  const Tensor all = ops::concat(states, 0);
  return judge(all.reshape({config_.decoder_layers, -1, config_.queries, config_.width}));
}

}  // namespace attend::models
