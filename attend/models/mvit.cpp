// MViT (Fan et al. 2021) and MViTv2 (Li et al. 2022): reading its config.json, and the forward pass. n is the side of
// the queries' grid, m that of the keys'.
#include "attend/models/mvit.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/class_token.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/nn/parts.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/convolution.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/pooling.h"
#include "attend/ops/reduce.h"

namespace attend::models {

namespace {

constexpr std::int64_t kLargestKernel = 64;

nn::LinearConfig linear(const MViTConfig& config) {
  return {.init = nn::Init{nn::Init::normal, config.init_deviation}};
}

// The row of the table for the distance from row i of the queries to row j of the keys. Both are counted in rows of the
// larger grid. Rounding follows timm.
std::vector<std::int32_t> grid_distances(std::int64_t queries, std::int64_t keys) {
  const float query_step = std::max(static_cast<float>(keys) / static_cast<float>(queries), 1.0f);
  const float key_step = std::max(static_cast<float>(queries) / static_cast<float>(keys), 1.0f);
  std::vector<std::int32_t> rows;
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j)
      rows.push_back(static_cast<std::int32_t>(static_cast<float>(i) * query_step - static_cast<float>(j) * key_step +
                                               static_cast<float>(keys - 1) * key_step));
  return rows;
}

// [side², 2 · side]: for each key a 1 at its row and a 1 at its column.
std::vector<float> grid_places(std::int64_t side) {
  std::vector<float> places(static_cast<std::size_t>(2 * side * side * side));
  for (std::int64_t key = 0; key < side * side; ++key)
    for (std::int64_t at : {key / side, side + key % side}) places[static_cast<std::size_t>(key * 2 * side + at)] = 1;
  return places;
}

void check_stage(const MViTConfig& config, const std::vector<MViTLayerShape>& layers, std::string_view what) {
  for (const MViTLayerShape& layer : layers) {
    check_heads(what, layer.attention, layer.heads);
    check_limited(what, "embed_dim", layer.attention, 8, limits::kWidestModel);
    for (std::int64_t stride : {layer.query_stride, layer.key_stride})
      check(layer.side % stride == 0,
            "{}: the grid of {} is {} x {}, which strides of {} do not divide; relative positions are for one size "
            "only: choose an image_size that they do",
            what, layer.label, layer.side, layer.side, stride);
    check_limited(what, "mlp_ratio times the width",
                  static_cast<std::int64_t>(config.feed_forward * static_cast<float>(layer.attention)), 1,
                  limits::kWidestFeedForward);
  }
}

void check_lists(const MViTConfig& config, std::string_view what) {
  check_within(what, "the number of depths", config.stages(), 1, kMostStages);
  for (const auto& [name, size] : {std::pair{"embed_dim", config.widths.size()},
                                   {"num_heads", config.heads.size()},
                                   {"stride_q", config.query_strides.size()}})
    check(size == config.depths.size(), "{}: {} depths, but {} of {}", what, config.depths.size(), size, name);
  for (std::size_t i = 0; i < config.depths.size(); ++i) {
    check_limited(what, "depths", config.depths[i], 1, limits::kMostLayers);
    check_limited(what, "embed_dim", config.widths[i], 8, limits::kWidestModel);
    const std::int64_t stride = config.query_strides[i];
    check(stride == 1 || (stride >= 2 && stride <= kLargestKernel && stride % 2 == 0),
          "{}: stride_q must be 1 or an even number up to {}, not {}", what, kLargestKernel, stride);
  }
  check_limited(what, "the sum of depths", config.layers(), 1, limits::kMostLayers);
}

// Strides may be one number or two equal ones per stage: [[1, 1], [2, 2]] -> [1, 2].
std::vector<std::int64_t> square_strides(const Json& list, const char* key, std::string_view what) {
  check(list.is_array(), "{}: '{}' must be a list, not {}", what, key, list.dump());
  std::vector<std::int64_t> strides;
  for (const Json& item : list) {
    const bool pair = item.is_array() && item.size() == 2 && item[0] == item[1];
    const Json& one = pair ? item[0] : item;
    check(one.is_number_integer(), "{}: '{}' is {}; only whole numbers, and squares, are known", what, key,
          list.dump());
    strides.push_back(one.get<std::int64_t>());
  }
  return strides;
}

// Reads a list with one number per stage, or one number that doubles from stage to stage.
void read_doubling(const Json& json, const char* key, std::vector<std::int64_t>& numbers, std::size_t stages,
                   std::string_view what) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return read_numbers(json, key, numbers, what);
  const auto first = found->get<std::int64_t>();
  check_within(what, key, first, 1, limits::kWidestModel);
  numbers.clear();
  for (std::size_t i = 0; i < std::min(stages, static_cast<std::size_t>(kMostStages)); ++i)
    numbers.push_back(first << i);
}

void require_text(const Json& json, const char* key, std::string_view value, std::string_view what) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return;
  check(found->is_string() && found->text() == value, "{}: '{}' is {}; only \"{}\" is known", what, key, found->dump(),
        value);
}

bool flag_of(const Json& json, const char* key, std::string_view what) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return false;
  check(found->is_boolean(), "{}: '{}' must be true or false, not {}", what, key, found->dump());
  return found->get<bool>();
}

// Whether a setting has the first of two values, which is the usual one.
bool one_of(const Json& json, const char* key, const std::pair<std::string_view, std::string_view>& values,
            std::string_view what) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return true;
  const bool first = found->is_string() && found->text() == values.first;
  check(first || (found->is_string() && found->text() == values.second), "{}: '{}' is {}; only {} and {} are known",
        what, key, found->dump(), values.first, values.second);
  return first;
}

std::vector<std::string> labels_or_numbers(const Json& json, std::string_view what) {
  const auto count = json.find("num_classes");
  if (json.contains("id2label") || count == json.end() || count->is_null()) return labels_of(json, what);
  check(count->is_number_integer(), "{}: 'num_classes' must be a whole number, not {}", what, count->dump());
  check_limited(what, "num_classes", count->get<std::int64_t>(), 1, static_cast<std::int64_t>(limits::kMostLabels));
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < count->get<std::int64_t>(); ++i) labels.push_back(fmt::format("LABEL_{}", i));
  return labels;
}

}  // namespace

std::int64_t MViTConfig::layers() const { return std::accumulate(depths.begin(), depths.end(), std::int64_t{0}); }

std::vector<std::vector<MViTLayerShape>> mvit_layers(const MViTConfig& config) {
  std::vector<std::vector<MViTLayerShape>> stages;
  std::int64_t side = config.image_size / config.patch_stride, key_stride = config.key_stride, number = 0;
  for (std::int64_t stage = 0; stage < config.stages(); ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    const std::int64_t width = config.widths[at], stride = config.query_strides[at], depth = config.depths[at];
    const std::int64_t before_it = config.widths[at > 0 ? at - 1 : 0];
    const std::int64_t behind_it = config.widths[std::min(at + 1, config.widths.size() - 1)];
    if (stride > 1) key_stride = std::max<std::int64_t>(key_stride / stride, 1);
    std::vector<MViTLayerShape>& layers = stages.emplace_back();
    for (std::int64_t i = 0; i < depth; ++i) {
      layers.push_back({.label = fmt::format("stage.{}.layer.{}", stage, i),
                        .in = config.expand_attention && i == 0 ? before_it : width,
                        .attention = width,
                        .out = !config.expand_attention && i + 1 == depth ? behind_it : width,
                        .heads = config.heads[at],
                        .side = side,
                        .query_stride = i == 0 ? stride : 1,
                        .key_stride = key_stride,
                        .drop_path = drop_path_of(config.drop_path, number++, config.layers())});
      if (i == 0) side /= stride;
    }
  }
  return stages;
}

Json mvit_v1_json() {
  return {{"depths", Json::array({1, 2, 11, 2})},
          {"expand_attn", false},
          {"residual_pooling", false},
          {"use_cls_token", true},
          {"use_abs_pos", true},
          {"rel_pos_type", "none"},
          {"pool_q", "strided"}};
}

void check_config(const MViTConfig& config, std::string_view what) {
  check(!(config.class_token && config.relative_positions),
        "{}: 'use_cls_token' is true; it is known only with a 'rel_pos_type' of none", what);
  check_limited(what, "image_size", config.image_size, 1, limits::kLargestModelImage);
  check_limited(what, "in_chans", config.channels, 1, limits::kMostChannels);
  check_within(what, "patch_kernel", config.patch_kernel, 1, kLargestKernel);
  check_within(what, "patch_stride", config.patch_stride, 1, std::min(config.image_size, kLargestKernel));
  check(config.image_size % config.patch_stride == 0, "{}: image_size {} is not a multiple of patch_stride {}", what,
        config.image_size, config.patch_stride);
  check(2 * config.patch_padding < config.patch_kernel &&
            2 * config.patch_padding >= config.patch_kernel - config.patch_stride,
        "{}: patch_padding {} with a patch_kernel of {} does not give image_size / patch_stride places a side", what,
        config.patch_padding, config.patch_kernel);
  check(config.pool_kernel >= 3 && config.pool_kernel <= kLargestKernel && config.pool_kernel % 2 == 1,
        "{}: kernel_qkv must be an odd number from 3 to {}, not {}", what, kLargestKernel, config.pool_kernel);
  check_within(what, "stride_kv_adaptive", config.key_stride, 1, kLargestKernel);
  check(config.feed_forward > 0 && config.feed_forward <= 64, "{}: mlp_ratio must be above 0 and at most 64, not {}",
        what, config.feed_forward);
  check_rate(what, "drop_path_rate", config.drop_path);
  check_positive(what, "norm_eps", config.norm_eps);
  check_positive(what, "initializer_range", config.init_deviation);
  check_lists(config, what);
  std::int64_t parameters = config.patch_kernel * config.patch_kernel * config.channels * config.widths[0];
  for (const auto& layers : mvit_layers(config)) {
    check_stage(config, layers, what);
    for (const MViTLayerShape& layer : layers)
      parameters +=
          ModelSize{.rows = 4 * std::max(layer.queries(), layer.keys()),
                    .width = layer.attention,
                    .layers = 1,
                    .hidden = static_cast<std::int64_t>(config.feed_forward * static_cast<float>(layer.attention))}
              .parameters();
  }
  check_size(what, parameters);
}

MViTConfig mvit_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  const auto type = json.find("model_type");
  check(type != json.end() && *type == "mvit", "{}: 'model_type' must be mvit, not {}", what,
        type == json.end() ? "missing" : type->dump());
  MViTConfig config;
  const Json square = square_sizes(
      json, {"image_size", "patch_kernel", "patch_stride", "patch_padding", "kernel_qkv", "stride_kv_adaptive"}, what);
  read_known_fields(config, square, what);
  read_numbers(json, "depths", config.depths, what);
  read_doubling(json, "embed_dim", config.widths, config.depths.size(), what);
  read_doubling(json, "num_heads", config.heads, config.depths.size(), what);
  if (json.contains("stride_q")) config.query_strides = square_strides(json["stride_q"], "stride_q", what);
  const auto key_stride = square.find("stride_kv_adaptive");
  if (key_stride != square.end()) {
    check(key_stride->is_number_integer(), "{}: 'stride_kv_adaptive' must be a whole number, or two that are the same",
          what);
    config.key_stride = key_stride->get<std::int64_t>();
  }
  check(!json.contains("stride_kv") || json["stride_kv"].is_null(),
        "{}: 'stride_kv' is {}; only stride_kv_adaptive is known", what, json["stride_kv"].dump());
  require_flag(json, "pool_first", false, what);
  config.class_token = flag_of(json, "use_cls_token", what),
  config.absolute_positions = flag_of(json, "use_abs_pos", what);
  config.relative_positions = one_of(json, "rel_pos_type", {"spatial", "none"}, what);
  config.pool_all_queries = one_of(json, "pool_q", {"all", "strided"}, what);
  require_flag(json, "qkv_bias", true, what);
  require_text(json, "mode", "conv", what);
  require_text(json, "pool_type", "max", what);
  config.architecture = architecture_of(json, what);
  config.labels = labels_or_numbers(json, what);
  config.problem = problem_type_of(json, config.labels.size(), what);
  check_config(config, what);
  return config;
}

Json mvit_json(const MViTConfig& config) {
  Json json = {{"model_type", "mvit"}};
  if (!config.architecture.empty()) json["architectures"] = Json::array({config.architecture});
  json.update(write_fields(config));
  json["depths"] = config.depths, json["embed_dim"] = config.widths, json["num_heads"] = config.heads;
  Json strides = Json::array();
  for (std::int64_t stride : config.query_strides) strides.push_back(Json::array({stride, stride}));
  json["stride_q"] = std::move(strides);
  json["stride_kv_adaptive"] = Json::array({config.key_stride, config.key_stride});
  if (config.class_token) json["use_cls_token"] = true;
  if (config.absolute_positions) json["use_abs_pos"] = true;
  if (!config.relative_positions) json["rel_pos_type"] = "none";
  if (!config.pool_all_queries) json["pool_q"] = "strided";
  json["num_classes"] = config.labels.size();
  write_labels(json, config.labels);
  write_problem_type(json, config.problem, config.labels.size());
  return json;
}

MViTPooling::MViTPooling(const MViTConfig& config, const MViTLayerShape& shape, std::int64_t stride)
    : weight{{shape.attention / shape.heads, config.pool_kernel, config.pool_kernel, 1},
             nn::Init::he(config.pool_kernel * config.pool_kernel),
             nn::Role::plain_convolution},
      norm(shape.attention / shape.heads, config.norm_eps),
      side_(shape.side),
      stride_(stride),
      tokens_(config.tokens()),
      channels_({shape.attention}, [width = shape.attention, head = shape.attention / shape.heads] {
        std::vector<std::int32_t> channels;
        for (std::int64_t i = 0; i < width; ++i) channels.push_back(static_cast<std::int32_t>(i % head));
        return channels;
      }) {}

Tensor MViTPooling::operator()(const Tensor& x) const {
  const std::int64_t B = x.dim(0), C = x.width(), head = weight.shape[0], kernel = weight.shape[1];
  // All heads share one weight [D, k, k, 1]; the lookup repeats it for every head, [H·D, k·k].
  const Tensor shared = ops::embedding(channels_.beside(x), weight.value.reshape({head, kernel * kernel}));
  const Tensor places = tokens_ == 0 ? ops::contiguous(x) : ops::slice(x, 1, tokens_, x.dim(1) - tokens_);
  // One convolution per channel: [B, side', side', H·D].
  Tensor pooled = ops::conv2d(places.reshape({B, side_, side_, C}), shared.reshape({C, kernel, kernel, 1}), {},
                              {.stride = {stride_, stride_}, .padding = {kernel / 2, kernel / 2}, .groups = C});
  if (tokens_ > 0) pooled = ops::concat({ops::slice(x, 1, 0, tokens_), pooled.reshape({B, -1, C})}, 1);
  // The norm is taken over each head, then the result is [B, tokens + side'², H·D].
  return norm(pooled.reshape({B, -1, head})).reshape({B, -1, C});
}

MViTAttention::MViTAttention(const MViTConfig& config, const MViTLayerShape& shape)
    : shape_(shape),
      residual_pooling_(config.residual_pooling),
      relative_(config.relative_positions),
      qkv_(shape.in, 3 * shape.attention, linear(config)),
      output_(shape.attention, shape.attention, linear(config)),
      key_(config, shape, shape.key_stride),
      value_(config, shape, shape.key_stride),
      down_{{2 * std::max(shape.queries(), shape.keys()) - 1, shape.attention / shape.heads},
            {nn::Init::normal, config.init_deviation}},
      across_{down_.shape, {nn::Init::normal, config.init_deviation}},
      distances_({shape.queries() * shape.keys()},
                 [queries = shape.queries(), keys = shape.keys()] { return grid_distances(queries, keys); }),
      spread_({shape.keys() * shape.keys(), 2 * shape.keys()}, [keys = shape.keys()] { return grid_places(keys); }) {
  if (config.pool_all_queries || shape.query_stride > 1) query_.emplace(config, shape, shape.query_stride);
}

Tensor MViTAttention::distance_bias(const Tensor& q) const {
  const std::int64_t B = q.dim(0), H = shape_.heads, D = q.width() / H, n = shape_.queries(), m = shape_.keys();
  const Tensor grid = q.reshape({B, n, n, H, D}), ids = distances_.beside(q);  // [B, n, n, H, D], [n·m]
  const auto scores = [&](const Tensor& lines, const nn::Parameter& table) {   // lines [n, B, n, H, D]
    const Tensor vectors = ops::embedding(ids, table).reshape({n, m, D});      // [n, m, D]
    return ops::matmul(lines.reshape({n, B * n * H, D}), vectors, {.transpose_b = true}).reshape({n, B, n, H, m});
  };
  // Scores of each query with every row, and with every column, of the keys: [B, H, n, n, m] each.
  const Tensor by_row = ops::permute(scores(ops::permute(grid, {1, 0, 2, 3, 4}), down_), {1, 3, 0, 2, 4});
  const Tensor by_column = ops::permute(scores(ops::permute(grid, {2, 0, 1, 3, 4}), across_), {1, 3, 2, 0, 4});
  // A key's score is that of its row plus that of its column: one product with 0s and 1s.
  const Tensor both = ops::concat({by_row, by_column}, 4);                    // [B, H, n, n, 2·m]
  return ops::linear(both, spread_.beside(q)).reshape({B, H, n * n, m * m});  // [B, H, n², m²]
}

Tensor MViTAttention::operator()(const Tensor& x) const {
  const auto [queries, keys, values] = ops::split<3>(qkv_(x));  // [B, side², attention] each
  const Tensor q = query_ ? (*query_)(queries) : queries, k = key_(keys),
               v = value_(values);  // [B, n² or m², attention]
  const std::string label = shape_.label + ".attention";
  // Shape [B, n², attention].
  const Tensor attended = ops::attention(
      q, k, v, {.heads = shape_.heads, .mask = {.bias = relative_ ? distance_bias(q) : Tensor()}, .label = label});
  // Equation 5: adding the pooled queries lets information flow around attention.
  const Tensor mixed = residual_pooling_ ? ops::add(attended, q) : attended, out = output_(mixed);
  nn::show(label, {{"read", x}, {"q", q}, {"k", k}, {"v", v}, {"mixed", mixed}, {"out", out}});
  return out;
}

MViTLayer::MViTLayer(const MViTConfig& config, const MViTLayerShape& shape)
    : shape_(shape),
      tokens_(config.tokens()),
      norm1_(shape.in, config.norm_eps),
      norm2_(shape.attention, config.norm_eps),
      attention_(config, shape),
      feed_forward_({.width = shape.attention,
                     .hidden = static_cast<std::int64_t>(config.feed_forward * static_cast<float>(shape.attention)),
                     .out = shape.out,
                     .activation = Activation::gelu,
                     .label = shape.label + ".feed_forward",
                     .expand = linear(config),
                     .contract = linear(config),
                     .expand_name = "fc1",
                     .contract_name = "fc2"}) {
  if (shape.in != shape.attention) wider_attention_.emplace(shape.in, shape.attention, linear(config));
  if (shape.attention != shape.out) wider_feed_forward_.emplace(shape.attention, shape.out, linear(config));
}

Tensor MViTLayer::pooled(const Tensor& x) const {
  const std::int64_t stride = shape_.query_stride, side = shape_.side;
  if (stride == 1) return x;  // [B, side², C]
  const Tensor places = tokens_ == 0 ? x : ops::slice(x, 1, tokens_, x.dim(1) - tokens_);
  const Tensor grid = ops::max_pool2d(places.reshape({x.dim(0), side, side, x.width()}),
                                      {.kernel = {stride + 1, stride + 1},
                                       .stride = {stride, stride},
                                       .padding = {(stride + 1) / 2, (stride + 1) / 2}});
  const Tensor fewer = grid.reshape({x.dim(0), -1, x.width()});  // [B, (side / stride)², C]
  return tokens_ == 0 ? fewer : ops::concat({ops::slice(x, 1, 0, tokens_), fewer}, 1);
}

void MViTLayer::operator()(nn::Residual& stream) const {
  stream.through(Recompute::layer, [this](nn::Residual& x) {
    const Tensor read = norm1_(x).value();  // [B, side², in]
    // The shortcut gets the shape of what attention adds, [B, n², attention].
    if (wider_attention_ || shape_.query_stride > 1)
      x = nn::Residual(pooled(wider_attention_ ? (*wider_attention_)(read) : x.value()), {});
    x.add(drop_path(attention_(read), shape_.drop_path));  // [B, n², attention]
    x.through(Recompute::feed_forward, [this](nn::Residual& y) {
      const Tensor between = norm2_(y).value();  // [B, n², attention]
      if (wider_feed_forward_) y = nn::Residual((*wider_feed_forward_)(between), {});
      y.add(drop_path(feed_forward_(between), shape_.drop_path));  // [B, n², out]
    });
  });
}

MViTStage::MViTStage(const MViTConfig& config, const std::vector<MViTLayerShape>& layers) {
  for (const MViTLayerShape& layer : layers) layers_.emplace_back(config, layer);
}

void MViTStage::operator()(nn::Residual& stream) const {
  for (const MViTLayer& layer : layers_) layer(stream);
}

MViT::MViT(const MViTConfig& config)
    : config_((check_config(config, "mvit"), config)),
      class_token_{{1, 1, config.widths[0]}, {nn::Init::normal, config.init_deviation}},
      positions_{
          {1, config.tokens() + (config.image_size / config.patch_stride) * (config.image_size / config.patch_stride),
           config.widths[0]},
          {nn::Init::normal, config.init_deviation}},
      patches_(config.channels, config.widths[0],
               {.kernel = {config.patch_kernel, config.patch_kernel},
                .window = {.stride = {config.patch_stride, config.patch_stride},
                           .padding = {config.patch_padding, config.patch_padding}}}),
      norm_(width(), config.norm_eps) {
  for (const auto& layers : mvit_layers(config_)) stages_.emplace_back(config_, layers);
}

Tensor MViT::states(const Tensor& pixels, std::vector<Tensor>* hidden) const {
  check_images(pixels, size(), config_.channels);
  const Tensor grid = patches_(pixels);                           // [B, side, side, C]
  Tensor tokens = grid.reshape({grid.dim(0), -1, grid.width()});  // [B, side², C]
  if (config_.class_token) tokens = ops::concat({repeated(class_token_, tokens), tokens}, 1);
  if (config_.absolute_positions) tokens = ops::add(tokens, positions_.value.reshape({tokens.dim(1), tokens.width()}));
  nn::Residual stream(tokens, {});  // [B, tokens + side², C]
  if (hidden) hidden->push_back(stream.value());
  for (const MViTStage& stage : stages_) {
    stage(stream);
    if (hidden) hidden->push_back(stream.value());
  }
  return norm_(stream).value();  // [B, places, C]
}

// [B, tokens + places, C] -> [B, C]
Tensor MViT::features(const Tensor& states) const {
  return config_.class_token ? token_state(states, 0) : ops::mean(states, 1);
}

std::vector<AttentionPlace> MViT::attention_places() const {
  std::vector<AttentionPlace> places;
  for (const auto& layers : mvit_layers(config_))
    for (const MViTLayerShape& layer : layers)
      places.push_back({.label = layer.label + ".attention",
                        .heads = layer.heads,
                        .tokens = config_.tokens(),
                        .queries = {layer.queries(), layer.queries()},
                        .keys = {layer.keys(), layer.keys()}});
  return places;
}

}  // namespace attend::models
