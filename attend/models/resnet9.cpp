// ResNet-9 and airbench's networks: reading their config.json, and the forward pass. Grids are [B, H, W, C].
#include "attend/models/resnet9.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/pooling.h"

namespace attend::models {

namespace {

// Weights begin as torch's layers do, which is what the published learning rates are for.
nn::Conv2dConfig three_by_three(std::int64_t in) {
  return {.kernel = {3, 3},
          .window = {.stride = {1, 1}, .padding = {1, 1}},
          .init = nn::Init{nn::Init::uniform, 1 / std::sqrt(static_cast<float>(9 * in))},
          .bias = false};
}

ops::BatchNormOptions norm_options(const ResNet9Config& config) { return {.momentum = config.norm_momentum}; }

Activation activation_of(const ResNet9Config& config) { return hugging_face_activation(config.activation, "resnet9"); }

void read_sizes(const Json& json, const char* key, std::vector<std::int64_t>& sizes, std::string_view what) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  check(found->is_array() && !found->empty() && static_cast<std::int64_t>(found->size()) <= kMostStages,
        "{}: '{}' must be a list of up to {} whole numbers, one a stage, not {}", what, key, kMostStages,
        found->dump());
  sizes.clear();
  for (const Json& size : *found) {
    check(size.is_number_integer(), "{}: '{}' must be a list of whole numbers, not {}", what, key, found->dump());
    sizes.push_back(size.get<std::int64_t>());
  }
}

}  // namespace

// The stem keeps the size, or takes one off; a stage halves it, rounded down.
std::int64_t ResNet9Config::grid() const {
  std::int64_t side = image_size - (whitening() ? 1 : 0);
  for (std::size_t i = 0; i < depths.size(); ++i) side /= 2;
  return side;
}

void check_config(const ResNet9Config& config, std::string_view what) {
  check_limited(what, "num_channels", config.channels, 1, limits::kMostChannels);
  check_limited(what, "image_size", config.image_size, 1, limits::kLargestModelImage);
  check_limited(what, "embedding_size", config.width, 1, limits::kWidestModel);
  check(config.stem == "convolution" || config.stem == "whitening",
        "{}: stem must be convolution or whitening, not '{}'", what, config.stem);
  check(!config.depths.empty() && config.depths.size() == config.hidden_sizes.size(),
        "{}: there are {} depths and {} hidden_sizes; every stage has one of each", what, config.depths.size(),
        config.hidden_sizes.size());
  check(config.norm_momentum > 0 && config.norm_momentum <= 1,
        "{}: norm_momentum must be above 0 and at most 1, not {}", what, config.norm_momentum);
  check_positive(what, "logit_scale", config.logit_scale);
  std::int64_t parameters = 0, in = config.stem_width();
  for (std::size_t i = 0; i < config.depths.size(); ++i) {
    check_limited(what, "each of depths", config.depths[i], 1, limits::kMostLayers);
    check_limited(what, "each of hidden_sizes", config.hidden_sizes[i], 1, limits::kWidestModel);
    const std::int64_t out = config.hidden_sizes[i];
    parameters += 9 * in * out + (config.depths[i] - 1) * 9 * out * out;
    check_size(what, parameters);
    in = out;
  }
  check(config.grid() >= 1, "{}: images of {} x {} are too small to be halved {} times", what, config.image_size,
        config.image_size, config.depths.size());
  hugging_face_activation(config.activation, what);
}

ResNet9Config resnet9_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  const auto type = json.find("model_type");
  check(type != json.end() && *type == "resnet9", "{}: 'model_type' must be resnet9, not {}", what,
        type == json.end() ? "missing" : type->dump());
  ResNet9Config config;
  read_known_fields(config, json, what);
  read_sizes(json, "depths", config.depths, what);
  read_sizes(json, "hidden_sizes", config.hidden_sizes, what);
  config.architecture = architecture_of(json, what);
  config.labels = labels_of(json, what);
  config.problem = problem_type_of(json, config.labels.size(), what);
  check_config(config, what);
  return config;
}

Json resnet9_json(const ResNet9Config& config) {
  Json json = {{"model_type", "resnet9"}};
  if (!config.architecture.empty()) json["architectures"] = Json::array({config.architecture});
  json.update(write_fields(config));
  json["depths"] = config.depths, json["hidden_sizes"] = config.hidden_sizes;
  if (!config.labels.empty()) write_labels(json, config.labels);
  write_problem_type(json, config.problem, config.labels.size());
  return json;
}

ResNet9Stage::ResNet9Stage(const ResNet9Config& config, std::int64_t in, std::int64_t out, std::int64_t depth)
    : convolution_(in, out, three_by_three(in)),
      normalization_(out, norm_options(config)),
      activation_(activation_of(config)) {
  for (std::int64_t i = 1; i < depth; ++i) layers_.emplace_back(out, out, three_by_three(out), norm_options(config));
}

Tensor ResNet9Stage::operator()(const Tensor& x) const {
  const Tensor pooled = ops::max_pool2d(convolution_(x), {.kernel = {2, 2}, .stride = {2, 2}});
  const Tensor first = normalization_(pooled, activation_);  // [B, H / 2, W / 2, out]
  Tensor y = first;
  for (const nn::ConvNorm& layer : layers_)
    y = layer(y, activation_, layers_.size() > 1 && &layer == &layers_.back() ? first : Tensor());
  return y;
}

ResNet9::ResNet9(const ResNet9Config& config)
    : config_((check_config(config, "resnet9"), config)), activation_(activation_of(config)) {
  std::int64_t in = config.stem_width();
  if (config.whitening())
    whitening_.emplace(config.channels, in, nn::Conv2dConfig{.kernel = {2, 2}});
  else
    stem_.emplace(config.channels, in, three_by_three(config.channels), norm_options(config));
  for (std::size_t i = 0; i < config.depths.size(); ++i) {
    stages_.emplace_back(config_, in, config.hidden_sizes[i], config.depths[i]);
    in = config.hidden_sizes[i];
  }
}

Tensor ResNet9::states(const Tensor& pixels, std::vector<Tensor>* hidden) const {
  check_images(pixels, size(), config_.channels);
  Tensor x = stem_ ? (*stem_)(pixels, activation_) : ops::activation((*whitening_)(pixels), activation_);
  if (hidden) hidden->push_back(x);
  for (const ResNet9Stage& stage : stages_) {
    x = stage(x);
    if (hidden) hidden->push_back(x);
  }
  return x.reshape({x.dim(0), -1, x.width()});  // [B, H'·W', C]
}

Tensor ResNet9::features(const Tensor& states) const {
  const std::int64_t side = config_.grid();
  const Tensor largest = ops::max_pool2d(states.reshape({states.dim(0), side, side, states.width()}),
                                         {.kernel = {side, side}, .stride = {side, side}});
  return ops::scale(largest.reshape({states.dim(0), states.width()}), config_.logit_scale);
}

}  // namespace attend::models
