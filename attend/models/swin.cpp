// Swin (Liu et al. 2021, section 3): reading its config.json, and the forward pass. w is the side of a window, T = w·w
// its places.
#include "attend/models/swin.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"
#include "attend/ops/windows.h"
#include "attend/tensor/backend.h"

namespace attend::models {

namespace {

// Limits memory: the scores of a window of w x w places are w⁴ numbers per head.
constexpr std::int64_t kLargestWindow = 64;

nn::LinearConfig linear(const SwinConfig& config) {
  return {.init = nn::Init{nn::Init::normal, config.init_deviation}};
}

// Pads [B, H, W, C] with zeros at the bottom and the right to [B, height, width, C].
Tensor padded(const Tensor& x, std::int64_t height, std::int64_t width) {
  Tensor y = x;
  for (const auto& [axis, size] : {std::pair{1, height}, {2, width}}) {
    if (y.dim(axis) == size) continue;
    Shape shape = y.shape();
    shape.set(axis, size - y.dim(axis));
    const Tensor zeros = like(y, shape);
    y.backend().fill(zeros, 0);
    y = ops::concat({y, zeros}, axis);
  }
  return y;
}

std::int64_t divided_up(std::int64_t x, std::int64_t by) { return (x + by - 1) / by; }

void check_stages(const SwinConfig& config, std::string_view what) {
  check_within(what, "the number of depths", config.stages(), 1, kMostStages);
  check(config.heads.size() == config.depths.size(), "{}: {} depths, but {} num_heads", what, config.depths.size(),
        config.heads.size());
  for (std::int64_t depth : config.depths) check_limited(what, "depths", depth, 1, limits::kMostLayers);
  check_limited(what, "the sum of depths", config.layers(), 1, limits::kMostLayers);
  std::int64_t parameters = config.patch_size * config.patch_size * config.channels * config.width;
  for (std::int64_t i = 0; i < config.stages(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t width = config.width_of(i);
    check_limited(what, "the width of the last stage", width, 8, limits::kWidestModel);
    check_limited(what, "mlp_ratio times the width", config.hidden_of(i), 1, limits::kWidestFeedForward);
    check_heads(what, width, config.heads[at]);
    parameters += ModelSize{.width = width, .layers = config.depths[at], .hidden = config.hidden_of(i)}.parameters() +
                  8 * width * width;
  }
  check_size(what, parameters);
}

}  // namespace

std::int64_t SwinConfig::layers() const { return std::accumulate(depths.begin(), depths.end(), std::int64_t{0}); }

std::int64_t SwinConfig::hidden_of(std::int64_t stage) const {
  return static_cast<std::int64_t>(static_cast<double>(feed_forward) * static_cast<double>(width_of(stage)));
}

std::int64_t SwinConfig::side_of(std::int64_t stage) const {
  std::int64_t side = divided_up(image_size, patch_size);
  for (std::int64_t i = 0; i < stage; ++i) side = divided_up(side, 2);
  return side;
}

std::int64_t SwinConfig::window_of(std::int64_t stage) const { return std::min(window, side_of(stage)); }

std::int64_t SwinConfig::shift_of(std::int64_t stage, std::int64_t layer) const {
  return layer % 2 == 0 || side_of(stage) <= window ? 0 : window / 2;
}

void check_config(const SwinConfig& config, std::string_view what) {
  check_limited(what, "image_size", config.image_size, 1, limits::kLargestModelImage);
  check_within(what, "patch_size", config.patch_size, 1, config.image_size);
  check_limited(what, "num_channels", config.channels, 1, limits::kMostChannels);
  check_limited(what, "embed_dim", config.width, 8, limits::kWidestModel);
  check_within(what, "window_size", config.window, 1, kLargestWindow);
  check(config.feed_forward > 0 && config.feed_forward <= 64, "{}: mlp_ratio must be above 0 and at most 64, not {}",
        what, config.feed_forward);
  check_rate(what, "hidden_dropout_prob", config.dropout);
  check_rate(what, "attention_probs_dropout_prob", config.attention_dropout);
  check_rate(what, "drop_path_rate", config.drop_path);
  check_positive(what, "layer_norm_eps", config.norm_eps);
  check_positive(what, "initializer_range", config.init_deviation);
  hugging_face_activation(config.activation, what);
  check_stages(config, what);
}

SwinConfig swin_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  const auto type = json.find("model_type");
  check(type != json.end() && *type == "swin", "{}: 'model_type' must be swin, not {}", what,
        type == json.end() ? "missing" : type->dump());
  SwinConfig config;
  read_known_fields(config, square_sizes(json, {"image_size", "patch_size"}, what), what);
  read_numbers(json, "depths", config.depths, what);
  read_numbers(json, "num_heads", config.heads, what);
  require_flag(json, "qkv_bias", true, what);
  require_flag(json, "use_absolute_embeddings", false, what);
  config.architecture = architecture_of(json, what);
  config.labels = labels_of(json, what);
  config.problem = problem_type_of(json, config.labels.size(), what);
  check_config(config, what);
  return config;
}

Json swin_json(const SwinConfig& config) {
  Json json = {{"model_type", "swin"}};
  if (!config.architecture.empty()) json["architectures"] = Json::array({config.architecture});
  json.update(write_fields(config));
  json["depths"] = config.depths, json["num_heads"] = config.heads;
  json["num_layers"] = config.stages(), json["hidden_size"] = config.width_of(config.stages() - 1);
  json["qkv_bias"] = true, json["use_absolute_embeddings"] = false;
  write_labels(json, config.labels);
  write_problem_type(json, config.problem, config.labels.size());
  return json;
}

SwinWindows::SwinWindows(const SwinConfig& config, std::int64_t stage)
    : side(config.side_of(stage)),
      window(config.window_of(stage)),
      padded(divided_up(side, window) * window),
      distances({window * window * window * window}, [w = window] { return ops::relative_positions(w); }) {
  const std::int64_t shift = config.shift_of(stage, 1), places = window * window;
  if (shift == 0) return;
  const ops::ShiftedWindows shifted{.height = padded,
                                    .width = padded,
                                    .window = window,
                                    .shift = shift,
                                    .heads = config.heads[static_cast<std::size_t>(stage)]};
  hidden.emplace(Shape{padded / window * (padded / window), shifted.heads, places, places},
                 [shifted] { return ops::shifted_window_mask(shifted); });
}

SwinLayer::SwinLayer(const SwinConfig& config, std::int64_t stage, std::int64_t index, const SwinWindows& windows)
    : norm1_(config.width_of(stage), config.norm_eps),
      norm2_(config.width_of(stage), config.norm_eps),
      attention_({.width = config.width_of(stage),
                  .heads = config.heads[static_cast<std::size_t>(stage)],
                  .dropout = config.attention_dropout,
                  .label = Swin::attention_label(stage, index),
                  .input = linear(config),
                  .output = linear(config),
                  .input_name = "self.query|key|value.",
                  .output_name = "output.dense"}),
      distances_{{(2 * windows.window - 1) * (2 * windows.window - 1), attention_.config().heads},
                 {nn::Init::normal, config.init_deviation}},
      feed_forward_({.width = config.width_of(stage),
                     .hidden = config.hidden_of(stage),
                     .activation = hugging_face_activation(config.activation, "swin"),
                     .label = fmt::format("stage.{}.layer.{}.feed_forward", stage, index),
                     .expand = linear(config),
                     .contract = linear(config),
                     .expand_name = "intermediate.dense",
                     .contract_name = "output.dense"}),
      windows_(windows),
      shift_(config.shift_of(stage, index)) {
  std::int64_t before = index;
  for (std::int64_t i = 0; i < stage; ++i) before += config.depths[static_cast<std::size_t>(i)];
  drop_path_ = drop_path_of(config.drop_path, before, config.layers());
}

Tensor SwinLayer::attend(const Tensor& x) const {
  const auto& [side, window, size, distances, hidden] = windows_;
  Tensor grid = padded(x.reshape({x.dim(0), side, side, x.width()}), size, size);  // [B, size, size, C]
  // A cyclic shift (figure 4) moves the cut by half a window, and the number of windows stays the same.
  if (shift_ > 0) grid = ops::roll(grid, {{1, -shift_}, {2, -shift_}});
  Tensor bias = ops::relative_position_bias(distances_, distances.beside(x));  // [1, H, T, T]
  // After a shift, places from opposite edges share a window; the mask keeps them apart: [windows, H, T, T].
  if (shift_ > 0) bias = ops::add(hidden->beside(x), bias.reshape({bias.dim(1), bias.dim(2), bias.dim(3)}));
  // [B, size, size, C] -> [B·windows, T, C]
  const Tensor mixed = attention_(ops::window_partition(grid, window), {.bias = bias}).value;
  grid = ops::window_reverse(mixed, window, size, size);               // [B, size, size, C]
  if (shift_ > 0) grid = ops::roll(grid, {{1, shift_}, {2, shift_}});  // undoes the shift
  // The padding is cut off again: [B, side, side, C].
  if (size != side) grid = ops::slice(ops::slice(grid, 1, 0, side), 2, 0, side);
  return grid.reshape(x.shape());  // [B, side², C]
}

// As in the authors' code, stochastic depth drops both sublayers; transformers drops attention alone.
void SwinLayer::operator()(nn::Residual& stream) const {
  stream.through(Recompute::layer, [this](nn::Residual& x) {
    x.add(drop_path(attend(norm1_(x).value()), drop_path_));  // [B, side², C]
    // [B, side², C] -> [B, side², hidden] -> [B, side², C]
    x.through(Recompute::feed_forward,
              [this](nn::Residual& y) { y.add(drop_path(feed_forward_(norm2_(y)), drop_path_)); });
  });
}

SwinMerging::SwinMerging(const SwinConfig& config, std::int64_t stage)
    : side_(config.side_of(stage)),
      norm_(4 * config.width_of(stage)),
      reduction_(4 * config.width_of(stage), 2 * config.width_of(stage),
                 {.init = nn::Init{nn::Init::normal, config.init_deviation}, .bias = false}) {}

Tensor SwinMerging::operator()(const Tensor& x) const {
  const std::int64_t B = x.dim(0), C = x.width(), half = divided_up(side_, 2);
  const Tensor grid = padded(x.reshape({B, side_, side_, C}), 2 * half, 2 * half);  // [B, 2·half, 2·half, C]
  // Of four neighbours those of the left column come first, as in the published weights: [B, half, half, 2, 2, C].
  const Tensor four = ops::permute(grid.reshape({B, half, 2, half, 2, C}), {0, 1, 3, 4, 2, 5});
  return reduction_(norm_(four.reshape({B, half * half, 4 * C})));  // [B, half², 2·C]
}

SwinStage::SwinStage(const SwinConfig& config, std::int64_t stage) : dropout_(config.dropout) {
  const SwinWindows windows(config, stage);
  for (std::int64_t i = 0; i < config.depths[static_cast<std::size_t>(stage)]; ++i)
    layers_.emplace_back(config, stage, i, windows);
  if (stage + 1 < config.stages()) merging_.emplace(config, stage);
}

Tensor SwinStage::operator()(const Tensor& x) const {
  nn::Residual stream(x, {.dropout = dropout_});  // [B, side², C]
  for (const SwinLayer& layer : layers_) layer(stream);
  return merging_ ? (*merging_)(stream.value()) : stream.value();
}

Swin::Swin(const SwinConfig& config)
    : config_((check_config(config, "swin"), config)),
      patches_(config.channels, config.width,
               {.kernel = {config.patch_size, config.patch_size},
                .window = {.stride = {config.patch_size, config.patch_size}},
                .init = nn::Init{nn::Init::normal, config.init_deviation}}),
      patch_norm_(config.width),
      norm_(width(), config.norm_eps) {
  for (std::int64_t i = 0; i < config.stages(); ++i) stages_.emplace_back(config_, i);
}

std::string Swin::attention_label(std::int64_t stage, std::int64_t layer) {
  return fmt::format("stage.{}.layer.{}.attention", stage, layer);
}

Tensor Swin::embed(const Tensor& pixels) const {
  check_images(pixels, size(), config_.channels);
  const std::int64_t side = config_.side_of(0), reached = side * config_.patch_size;
  const Tensor grid = patches_(padded(pixels, reached, reached));  // [B, side, side, C]
  // Shape [B, side², C].
  return ops::dropout(patch_norm_(grid.reshape({grid.dim(0), side * side, config_.width})), config_.dropout);
}

Tensor Swin::states(const Tensor& pixels, std::vector<Tensor>* hidden) const {
  Tensor x = embed(pixels);  // [B, side², C]
  if (hidden) hidden->push_back(x);
  for (const SwinStage& stage : stages_) {
    x = stage(x);  // [B, ⌈side / 2⌉², 2·C], or unchanged in the last stage
    if (hidden) hidden->push_back(x);
  }
  return norm_(x);  // [B, places, C]
}

// [B, places, C] -> [B, C]
Tensor Swin::features(const Tensor& states) const { return ops::mean(states, 1); }

std::vector<AttentionPlace> Swin::attention_places() const {
  std::vector<AttentionPlace> places;
  for (std::int64_t stage = 0; stage < config_.stages(); ++stage) {
    const Extent2 grid{config_.side_of(stage), config_.side_of(stage)};
    for (std::int64_t i = 0; i < config_.depths[static_cast<std::size_t>(stage)]; ++i)
      places.push_back({.label = attention_label(stage, i),
                        .heads = config_.heads[static_cast<std::size_t>(stage)],
                        .queries = grid,
                        .keys = grid,
                        .window = config_.window_of(stage),
                        .shift = config_.shift_of(stage, i)});
  }
  return places;
}

}  // namespace attend::models
