// ViT and DeiT (Dosovitskiy et al. 2020, section 3.1): reading their config.json, and the forward pass.
#include "attend/models/vit.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/class_token.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/drop_path.h"
#include "attend/ops/layout.h"
#include "attend/ops/pooling.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"

namespace attend::models {

namespace {

// Deviation of a CCT's positions in the beginning. Those of a patch are as large as what the stem makes of it; the
// authors' code begins like this, and with He et al. 2015 (fan in) for its convolutions.
constexpr float kPooledPositions = 0.2f;

nn::LinearConfig linear(const ViTConfig& config) { return {.init = nn::Init{nn::Init::normal, config.init_deviation}}; }

ViTFamily family_named(const Json& json, std::string_view what) {
  const auto found = json.find("model_type");
  for (ViTFamily family : {ViTFamily::vit, ViTFamily::deit, ViTFamily::vit_conv, ViTFamily::vit_hybrid})
    if (found != json.end() && *found == name_of(family)) return family;
  fail("{}: 'model_type' must be vit, deit, vit_conv or vit_hybrid, not {}", what,
       found == json.end() ? "missing" : found->dump());
}

// The stem halves the image this many times: the binary logarithm of the patch size.
std::int64_t halvings(const ViTConfig& config) {
  std::int64_t count = 0;
  for (std::int64_t size = config.patch_size; size > 1; size /= 2) ++count;
  return count;
}

// The settings of the hybrid's ResNet: they are those of its own file but for the images, which are the model's.
ResNetConfig backbone_of(const Json& json, const ViTConfig& config, std::string_view what) {
  const std::string place = fmt::format("{}: backbone_config", what);
  const auto found = json.find("backbone_config");
  ResNetConfig backbone = config.backbone;
  if (found != json.end() && !found->is_null()) {
    check(found->is_object(), "{}: expected a JSON object, not {}", place, found->dump());
    Json own = *found;
    if (!own.contains("model_type")) own["model_type"] = "resnet";
    backbone = resnet_config(own, place);
    backbone.labels.clear();
    check(backbone.self_attention_stage == 0, "{}: 'self_attention_stage' is {}; attention follows in the ViT", place,
          backbone.self_attention_stage);
  }
  backbone.channels = config.channels, backbone.image_size = config.image_size;
  return backbone;
}

}  // namespace

void check_config(const ViTConfig& config, std::string_view what) {
  check_limited(what, "image_size", config.image_size, 1, limits::kLargestModelImage);
  check_within(what, "patch_size", config.patch_size, 1, config.image_size);
  if (config.hybrid()) {
    check_config(config.backbone, fmt::format("{}: backbone_config", what));
    check(config.grid() % config.patch_size == 0,
          "{}: the ResNet's grid is {} x {}, which a patch_size of {} does not divide", what, config.grid(),
          config.grid(), config.patch_size);
  }
  check(config.stem == "strided" || (config.stem == "pooled" && config.convolutional()),
        "{}: stem must be strided, or for vit_conv pooled, not '{}'", what, config.stem);
  check(config.pooling == "token" || config.pooling == "mean" || config.pooling == "sequence",
        "{}: pooling must be token, mean or sequence, not '{}'", what, config.pooling);
  check(config.pooling == "token" || !config.distilled(), "{}: pooling is '{}', but a deit has class tokens", what,
        config.pooling);
  check(!config.pooled_stem() || config.patch_size > 1, "{}: a pooled stem needs a patch_size of at least 2", what);
  check_limited(what, "num_channels", config.channels, 1, limits::kMostChannels);
  check_limited(what, "hidden_size", config.width, 8, limits::kWidestModel);
  check_limited(what, "num_hidden_layers", config.layers, 1, limits::kMostLayers);
  check_limited(what, "intermediate_size", config.hidden, 1, limits::kWidestFeedForward);
  check_heads(what, config.width, config.heads);
  check_rate(what, "hidden_dropout_prob", config.dropout);
  check_rate(what, "attention_probs_dropout_prob", config.attention_dropout);
  check_rate(what, "drop_path_rate", config.drop_path);
  check_positive(what, "layer_norm_eps", config.norm_eps);
  check_positive(what, "initializer_range", config.init_deviation);
  hugging_face_activation(config.activation, what);
  check_size(what,
             ModelSize{.rows = config.side() * config.side() + config.patch_size * config.patch_size * config.channels,
                       .width = config.width,
                       .layers = config.layers,
                       .hidden = config.hidden}
                 .parameters());
}

ViTConfig vit_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  ViTConfig config{.family = family_named(json, what)};
  if (config.hybrid()) config.patch_size = 1;
  read_known_fields(config, square_sizes(json, {"image_size", "patch_size"}, what), what);
  require_flag(json, "qkv_bias", true, what);
  // Some files call themselves a ViT although their models compute something else (DINOv2, registers). These keys
  // reveal them.
  for (const char* key : {"layerscale_value", "layer_scale_init_value", "num_register_tokens", "use_swiglu_ffn"})
    require_unset(json, key, what);
  if (config.hybrid()) config.backbone = backbone_of(json, config, what);
  config.architecture = architecture_of(json, what);
  config.labels = labels_of(json, what);
  config.problem = problem_type_of(json, config.labels.size(), what);
  check_config(config, what);
  return config;
}

Json vit_json(const ViTConfig& config) {
  Json json = {{"model_type", name_of(config.family)}};
  if (!config.architecture.empty()) json["architectures"] = Json::array({config.architecture});
  json.update(write_fields(config));
  json["qkv_bias"] = true;
  const ViTConfig usual;
  if (config.stem == usual.stem) json.erase("stem");
  if (config.pooling == usual.pooling) json.erase("pooling");
  if (config.hybrid()) json["backbone_config"] = resnet_json(config.backbone);
  write_labels(json, config.labels);
  write_problem_type(json, config.problem, config.labels.size());
  return json;
}

ViTLayer::ViTLayer(const ViTConfig& config, std::int64_t index)
    : norm1_(config.width, config.norm_eps),
      norm2_(config.width, config.norm_eps),
      attention_({.width = config.width,
                  .heads = config.heads,
                  .dropout = config.attention_dropout,
                  .label = ViT::attention_label(index),
                  .input = linear(config),
                  .output = linear(config),
                  .input_name = "attention.query|key|value.",
                  .output_name = "output.dense"}),
      feed_forward_({.width = config.width,
                     .hidden = config.hidden,
                     .activation = hugging_face_activation(config.activation, "vit"),
                     .label = fmt::format("layer.{}.feed_forward", index),
                     .expand = linear(config),
                     .contract = linear(config),
                     .expand_name = "intermediate.dense",
                     .contract_name = "output.dense"}),
      drop_path_(drop_path_of(config.drop_path, index, config.layers)) {}

void ViTLayer::operator()(nn::Residual& stream) const {
  stream.through(Recompute::layer, [this](nn::Residual& x) {
    x.add(drop_path(attention_(norm1_(x), {}), drop_path_));  // [B, 1 + P, C]
    // [B, 1 + P, C] -> [B, 1 + P, hidden] -> [B, 1 + P, C]
    x.through(Recompute::feed_forward,
              [this](nn::Residual& y) { y.add(drop_path(feed_forward_(norm2_(y)), drop_path_)); });
  });
}

ConvolutionStem::ConvolutionStem(const ViTConfig& config) {
  constexpr std::int64_t kPooledWidth = 64;
  const std::int64_t count = halvings(config);
  std::int64_t in = config.channels;
  if (config.pooled_stem()) {
    for (std::int64_t i = 1; i <= count; ++i) {
      const std::int64_t out = i < count ? kPooledWidth : config.width;
      convolutions_.emplace_back(
          in, out,
          nn::Conv2dConfig{
              .kernel = {3, 3}, .window = {.padding = {1, 1}}, .init = nn::Init::he(9 * in), .bias = false});
      in = out;
    }
    return;
  }
  projection_.emplace(config.width, config.width, linear(config));
  for (std::int64_t i = 0; i <= count; ++i) {
    const std::int64_t out = std::max<std::int64_t>(config.width >> (count - i), 1), stride = i == 0 ? 1 : 2;
    convolutions_.emplace_back(
        in, out,
        nn::Conv2dConfig{.kernel = {3, 3}, .window = {.stride = {stride, stride}, .padding = {1, 1}}, .bias = false});
    norms_.emplace_back(out);
    in = out;
  }
}

Tensor ConvolutionStem::operator()(const Tensor& pixels) const {
  Tensor x = pixels;
  if (!projection_) {  // a pooled one
    for (const nn::Conv2d& convolution : convolutions_)
      x = ops::max_pool2d(ops::relu(convolution(x)), {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    return x;  // [B, side, side, C]
  }
  // After the first convolution each one halves height and width.
  for (std::size_t i = 0; i < convolutions_.size(); ++i) x = norms_[i](convolutions_[i](x), Activation::relu);
  return (*projection_)(x);  // [B, side, side, C]
}

ViT::ViT(const ViTConfig& config)
    : config_((check_config(config, name_of(config.family)), config)),
      class_token_{{1, 1, config.width}, {nn::Init::normal, config.init_deviation}},
      distillation_token_{{1, 1, config.width}, {nn::Init::normal, config.init_deviation}},
      positions_{{1, config.tokens() + config.side() * config.side(), config.width},
                 {nn::Init::normal, config.pooled_stem() ? kPooledPositions : config.init_deviation}},
      patches_(config.hybrid() ? config.backbone.hidden_sizes.back() : config.channels, config.width,
               {.kernel = {config.patch_size, config.patch_size},
                .window = {.stride = {config.patch_size, config.patch_size}},
                .init = nn::Init{nn::Init::normal, config.init_deviation}}),
      stem_(config_),
      norm_(config.width, config.norm_eps) {
  if (config.hybrid()) backbone_.emplace(config.backbone);
  if (config.pooling == "sequence") attention_pool_.emplace(config.width, 1, linear(config));
  for (std::int64_t i = 0; i < config.layers; ++i) layers_.emplace_back(config_, i);
}

std::string ViT::attention_label(std::int64_t layer) { return fmt::format("layer.{}.attention", layer); }

Tensor ViT::embed(const Tensor& pixels) const {
  check_images(pixels, size(), config_.channels);
  const Tensor grid = config_.convolutional() ? stem_(pixels)
                      : backbone_             ? patches_(backbone_->grid(pixels))
                                              : patches_(pixels);                     // [B, side, side, C]
  const Tensor patches = grid.reshape({grid.dim(0), -1, config_.width});  // [B, P, C]
  // Tokens stand before the patches: [B, tokens + P, C].
  const Tensor all =
      config_.tokens() == 0 ? patches
      : config_.distilled()
          ? ops::concat({repeated(class_token_, patches), repeated(distillation_token_, patches), patches}, 1)
          : ops::concat({repeated(class_token_, patches), patches}, 1);
  // Learned positions are the same for every image: [B, tokens + P, C].
  return ops::dropout(ops::add(all, positions_.value.reshape({all.dim(1), config_.width})), config_.dropout);
}

Tensor ViT::states(const Tensor& pixels, std::vector<Tensor>* hidden) const {
  nn::Residual stream(embed(pixels), {.dropout = config_.dropout});  // [B, tokens + P, C]
  if (hidden) hidden->push_back(stream.value());
  for (const ViTLayer& layer : layers_) {
    layer(stream);
    if (hidden) hidden->push_back(stream.value());
  }
  return norm_(stream).value();  // [B, tokens + P, C]
}

void ViT::fold() {
  if (backbone_) nn::fold_norms(*backbone_);
}

Tensor ViT::features(const Tensor& states) const {
  if (config_.tokens() > 0) return token_state(states, 0);
  if (!attention_pool_) return ops::mean(states, 1);
  const std::int64_t B = states.dim(0), P = states.dim(1), C = states.width();
  const Tensor weights = ops::softmax((*attention_pool_)(states).reshape({B, 1, P}));  // [B, 1, P]
  return ops::matmul(weights, states).reshape({B, C});
}

std::vector<AttentionPlace> ViT::attention_places() const {
  std::vector<AttentionPlace> places;
  const Extent2 grid{config_.side(), config_.side()};
  for (std::int64_t i = 0; i < config_.layers; ++i)
    places.push_back({.label = attention_label(i),
                      .heads = config_.heads,
                      .tokens = config_.tokens(),
                      .queries = grid,
                      .keys = grid});
  return places;
}

// Height of the ResNet's last grid: every halving rounds up.
std::int64_t ViTConfig::grid() const {
  std::size_t halvings = (backbone.small() ? 0u : 2u) + backbone.depths.size() - 1u;
  if (backbone.downsample_in_first_stage) ++halvings;
  std::int64_t side = image_size;
  for (; halvings > 0; --halvings) side = (side + 1) / 2;
  return side;
}

ViTClassifier::ViTClassifier(const ViTConfig& config)
    : body_(config),
      head_(config.width, static_cast<std::int64_t>(config.labels.size()), linear(config)),
      teacher_head_(config.width, static_cast<std::int64_t>(config.labels.size()), linear(config)) {}

Tensor ViTClassifier::features(const Tensor& states) const {
  if (!body_.config().with_teacher()) return body_.features(states);
  return ops::concat({token_state(states, 0), token_state(states, 1)}, 1);  // [B, 2·C]
}

Tensor ViTClassifier::scores(const Tensor& features) const {
  if (!body_.config().with_teacher()) return head_(features);
  const auto [own, taught] = ops::split<2>(features);                    // [B, C] each
  return ops::scale(ops::add(head_(own), teacher_head_(taught)), 0.5f);  // [B, labels]
}

}  // namespace attend::models
