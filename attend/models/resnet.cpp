// ResNet (He et al. 2016): reading its config.json, and the forward pass. Grids are [B, H, W, C], channels last.
#include "attend/models/resnet.h"

#include <numeric>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/drop_path.h"
#include "attend/ops/pooling.h"
#include "attend/ops/reduce.h"

namespace attend::models {

namespace {

constexpr std::int64_t kReduction = 4;   // a bottleneck reduces the channels by this factor
constexpr std::int64_t kUndilated = 32;  // the output_stride at which no stage is dilated

nn::ConvNorm conv_norm(const ResNetConfig& config, std::int64_t in, std::int64_t out, std::int64_t kernel,
                       std::int64_t stride, std::int64_t dilation = 1) {
  // This padding keeps the size when the stride is 1.
  const std::int64_t around = kernel / 2 * dilation;
  return {in,
          out,
          {.kernel = {kernel, kernel},
           .window = {.stride = {stride, stride}, .padding = {around, around}, .dilation = {dilation, dilation}}},
          {.frozen = config.frozen_norms}};
}

Activation activation_of(const ResNetConfig& config) { return hugging_face_activation(config.activation, "resnet"); }

std::vector<std::int64_t> sizes_of(const Json& json, const char* key, const std::vector<std::int64_t>& otherwise,
                                   std::string_view what) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return otherwise;
  std::vector<std::int64_t> sizes;
  check(found->is_array() && !found->empty() && static_cast<std::int64_t>(found->size()) <= limits::kMostLayers,
        "{}: '{}' must be a list of whole numbers, one a stage, not {}", what, key, found->dump());
  for (const Json& size : *found) {
    check(size.is_number_integer(), "{}: '{}' must be a list of whole numbers, not {}", what, key, found->dump());
    sizes.push_back(size.get<std::int64_t>());
  }
  return sizes;
}

}  // namespace

void check_config(const ResNetConfig& config, std::string_view what) {
  check_limited(what, "num_channels", config.channels, 1, limits::kMostChannels);
  check_limited(what, "embedding_size", config.width, 1, limits::kWidestModel);
  check_limited(what, "image_size", config.image_size, 1, limits::kLargestModelImage);
  check(!config.depths.empty() && config.depths.size() == config.hidden_sizes.size(),
        "{}: there are {} depths and {} hidden_sizes; every stage has one of each", what, config.depths.size(),
        config.hidden_sizes.size());
  check(config.layer_type == "basic" || config.layer_type == "bottleneck",
        "{}: layer_type must be basic or bottleneck, not '{}'", what, config.layer_type);
  check(config.stem == "imagenet" || config.stem == "small", "{}: stem must be imagenet or small, not '{}'", what,
        config.stem);
  check(config.output_stride == 8 || config.output_stride == 16 || config.output_stride == 32,
        "{}: output_stride must be 8, 16 or 32, not {}", what, config.output_stride);
  std::int64_t parameters = 0, in = config.width;
  for (std::size_t i = 0; i < config.depths.size(); ++i) {
    check_limited(what, "each of depths", config.depths[i], 1, limits::kMostLayers);
    check_limited(what, "each of hidden_sizes", config.hidden_sizes[i], config.layer_type == "basic" ? 1 : kReduction,
                  limits::kWidestModel);
    const std::int64_t out = config.hidden_sizes[i];
    parameters += in * out + config.depths[i] * out * out * (config.layer_type == "basic" ? 18 : 2);
    check_size(what, parameters);
    in = out;
  }
  check_within(what, "self_attention_stage", config.self_attention_stage, 0,
               static_cast<std::int64_t>(config.depths.size()));
  check_rate(what, "drop_path_rate", config.drop_path);
  hugging_face_activation(config.activation, what);
}

ResNetConfig resnet_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  const auto type = json.find("model_type");
  check(type != json.end() && *type == "resnet", "{}: 'model_type' must be resnet, not {}", what,
        type == json.end() ? "missing" : type->dump());
  ResNetConfig config;
  read_known_fields(config, json, what);
  config.depths = sizes_of(json, "depths", config.depths, what);
  config.hidden_sizes = sizes_of(json, "hidden_sizes", config.hidden_sizes, what);
  config.architecture = architecture_of(json, what);
  config.labels = labels_of(json, what);
  config.problem = problem_type_of(json, config.labels.size(), what);
  check_config(config, what);
  return config;
}

Json resnet_json(const ResNetConfig& config) {
  const ResNetConfig usual;
  Json json = {{"model_type", "resnet"}};
  if (!config.architecture.empty()) json["architectures"] = Json::array({config.architecture});
  json.update(write_fields(config));
  if (config.stem == usual.stem) json.erase("stem");
  if (config.image_size == usual.image_size) json.erase("image_size");
  if (config.self_attention_stage == 0) json.erase("self_attention_stage");
  if (config.drop_path == 0) json.erase("drop_path_rate");
  json["depths"] = config.depths, json["hidden_sizes"] = config.hidden_sizes;
  if (!config.labels.empty()) write_labels(json, config.labels);
  write_problem_type(json, config.problem, config.labels.size());
  return json;
}

ResNetBlock::ResNetBlock(const ResNetConfig& config, std::int64_t in, std::int64_t out, const ResNetSteps& steps,
                         float drop_path)
    : activation_(activation_of(config)), drop_path_(drop_path) {
  const auto& [stride, first_dilation, dilation] = steps;
  if (in != out || stride != 1) shortcut_ = conv_norm(config, in, out, 1, stride);
  if (config.layer_type == "basic") {
    layers_.push_back(conv_norm(config, in, out, 3, stride, first_dilation));
    layers_.push_back(conv_norm(config, out, out, 3, 1, dilation));
    return;
  }
  const std::int64_t inside = out / kReduction;
  const bool first = config.downsample_in_bottleneck;
  // The stride belongs to the 3 x 3 convolution, as in torchvision, or to the first one, as in the paper.
  layers_.push_back(conv_norm(config, in, inside, 1, first ? stride : 1));
  layers_.push_back(conv_norm(config, inside, inside, 3, first ? 1 : stride, first_dilation));
  layers_.push_back(conv_norm(config, inside, out, 1, 1));
}

Tensor ResNetBlock::operator()(const Tensor& x) const {
  // f(x): [B, H', W', out]. The sum comes before the last activation: equation 2 where the shapes differ, else 1.
  const Tensor residual = shortcut_ ? (*shortcut_)(x, Activation::none) : x;
  const bool whole = drop_path_ == 0 || !x.pass() || !x.pass()->recording();
  Tensor y = x;
  for (const nn::ConvNorm& layer : layers_) {
    const bool last = &layer == &layers_.back();
    if (last && !whole)
      return ops::activation(ops::add(ops::drop_path(layer(y, Activation::none), drop_path_), residual), activation_);
    y = layer(y, activation_, last ? residual : Tensor());
  }
  return y;
}

ResNet::ResNet(const ResNetConfig& config)
    : config_((check_config(config, "resnet"), config)),
      stem_(conv_norm(config, config.channels, config.width, config.small() ? 3 : 7, config.small() ? 1 : 2)),
      activation_(activation_of(config)) {
  std::int64_t in = config.width, reached = config.small() ? 1 : 4;  // pixels along one side of a place
  ResNetSteps steps;
  const std::int64_t blocks = std::accumulate(config.depths.begin(), config.depths.end(), std::int64_t{0});
  std::int64_t number = 0;
  for (std::size_t i = 0; i < config.depths.size(); ++i) {
    ResNetStage& stage = stages_.emplace_back();
    const std::int64_t step = i > 0 || config.downsample_in_first_stage ? 2 : 1;
    const bool dilated = config.output_stride < kUndilated && reached >= config.output_stride;
    // Dilation replaces the stride, so that windows see the same part of the image.
    if (dilated) steps.dilation *= step;
    stage.stride = dilated ? 1 : step, reached *= stage.stride;
    for (std::int64_t n = 0; n < config.depths[i]; ++n) {
      steps.stride = n == 0 ? stage.stride : 1;
      stage.blocks.emplace_back(config_, in, config.hidden_sizes[i], steps,
                                drop_path_of(config.drop_path, number++, blocks));
      steps.first_dilation = steps.dilation;
      in = config.hidden_sizes[i];
    }
    if (static_cast<std::int64_t>(i) + 1 == config.self_attention_stage)
      attention_.emplace(in, nn::SelfAttention2dConfig{.spectral = false, .label = kAttention});
  }
}

Extent2 ResNet::grid_size(Extent2 pixels) const { return size_behind(stages_.size(), pixels); }

// Each stride of 2 halves the grid, rounded up, whatever the window.
Extent2 ResNet::size_behind(std::size_t stage, Extent2 pixels) const {
  std::size_t halvings = config_.small() ? 0 : 2;
  for (std::size_t i = 0; i < stage; ++i) halvings += stages_[i].stride == 2 ? 1 : 0;
  for (; halvings > 0; --halvings) pixels = {(pixels.h + 1) / 2, (pixels.w + 1) / 2};
  return pixels;
}

std::vector<AttentionPlace> ResNet::attention_places() const {
  if (!attention_) return {};
  const Extent2 places = size_behind(static_cast<std::size_t>(config_.self_attention_stage), size());
  return {{.label = kAttention, .queries = places, .keys = {places.h / 2, places.w / 2}}};
}

Tensor ResNet::grid(const Tensor& pixels, std::vector<Tensor>* hidden) const {
  check(pixels.rank() == 4 && pixels.dim(3) == config_.channels, "images are {}, but the model reads [B, H, W, {}]",
        pixels.shape(), config_.channels);
  Tensor x = stem_(pixels, activation_);  // [B, H/2, W/2, width]; small: [B, H, W, width]
  // Pooling makes it [B, H/4, W/4, width].
  if (!config_.small()) x = ops::max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  if (hidden) hidden->push_back(x);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    for (const ResNetBlock& block : stages_[i].blocks) x = block(x);  // [B, H', W', C of the stage]
    if (static_cast<std::int64_t>(i) + 1 == config_.self_attention_stage) x = (*attention_)(x);
    if (hidden) hidden->push_back(x);
  }
  return x;
}

Tensor ResNet::states(const Tensor& pixels, std::vector<Tensor>* hidden) const {
  const Tensor x = grid(pixels, hidden);
  return x.reshape({x.dim(0), -1, x.width()});  // [B, H'·W', C]
}

// Global average pooling: [B, H'·W', C] -> [B, C]
Tensor ResNet::features(const Tensor& states) const { return ops::mean(states, 1); }

}  // namespace attend::models
