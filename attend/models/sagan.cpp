// SAGAN (Zhang et al. 2019): reading its config.json, generator, discriminator and their losses. Images are [B, H, W,
// 3].
#include "attend/models/sagan.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/hinge.h"
#include "attend/ops/layout.h"
#include "attend/ops/pooling.h"
#include "attend/ops/reduce.h"
#include "attend/ops/resize.h"

namespace attend::models {

namespace {

constexpr std::int64_t kStart = 4;          // side of the grid the generator begins with
constexpr std::int64_t kMostDoublings = 7;  // 512 x 512

// [B, H, W, C] -> [B, 2·H, 2·W, C]
Tensor doubled(const Tensor& x) { return ops::resize(x, {2 * x.dim(1), 2 * x.dim(2)}, {.mode = ResizeMode::nearest}); }
// [B, H, W, C] -> [B, H/2, W/2, C]
Tensor halved(const Tensor& x) { return ops::avg_pool2d(x, {.kernel = {2, 2}, .stride = {2, 2}}); }

nn::SpectralConv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel) {
  return {in, out, kernel, {.bias = false}};
}

// Lists the parameters of one network with its prefix.
template <class Module>
struct Named {
  const char* name;
  Module& module;
  template <class Visitor>
  void visit(Visitor&& v) {
    v(name, module);
  }
};

}  // namespace

void check_config(const SaganConfig& config, std::string_view what) {
  check_limited(what, "noise_size", config.noise_size, 1, limits::kWidestModel);
  check_within(what, "the number of generator_widths", static_cast<std::int64_t>(config.generator_widths.size()), 2,
               kMostDoublings + 1);
  const auto judged = static_cast<std::int64_t>(config.discriminator_widths.size());
  check_within(what, "the number of discriminator_widths", judged, 1, 2 * kMostDoublings);
  std::int64_t parameters = config.noise_size * kStart * kStart * config.generator_widths[0], in = 0;
  for (const auto* widths : {&config.generator_widths, &config.discriminator_widths})
    for (const std::int64_t width : *widths) {
      check_limited(what, "each of the widths", width, 1, limits::kWidestModel);
      parameters += 9 * width * width + 10 * in * width;
      in = width;
      check_size(what, parameters);
    }
  check_within(what, "discriminator_halvings", config.discriminator_halvings, 1, std::min(judged, config.stages()));
  check_within(what, "attention_stage", config.attention_stage, 0, config.stages() - 1);
  check(config.discriminator_attention_stage() <= config.discriminator_halvings,
        "{}: attention_stage {} is at {} x {} places, but the discriminator ends with {} x {}; more "
        "discriminator_halvings, or a later stage",
        what, config.attention_stage, kStart << config.attention_stage, kStart << config.attention_stage,
        config.image_size() >> config.discriminator_halvings, config.image_size() >> config.discriminator_halvings);
  check(config.classes() >= 1, "{}: no labels ('id2label') to draw", what);
}

SaganConfig sagan_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  const auto type = json.find("model_type");
  check(type != json.end() && *type == "sagan", "{}: 'model_type' must be sagan, not {}", what,
        type == json.end() ? "missing" : type->dump());
  SaganConfig config;
  read_known_fields(config, json, what);
  read_numbers(json, "generator_widths", config.generator_widths, what);
  read_numbers(json, "discriminator_widths", config.discriminator_widths, what);
  config.labels = labels_of(json, what);
  check_config(config, what);
  return config;
}

Json sagan_json(const SaganConfig& config) {
  Json json = {{"model_type", "sagan"}};
  json.update(write_fields(config));
  json["generator_widths"] = config.generator_widths, json["discriminator_widths"] = config.discriminator_widths;
  write_labels(json, config.labels);
  return json;
}

UpBlock::UpBlock(std::int64_t classes, std::int64_t in, std::int64_t out)
    : norm1_(classes, in),
      norm2_(classes, out),
      convolution1_(convolution(in, out, 3)),
      convolution2_(convolution(out, out, 3)),
      skip_(convolution(in, out, 1)) {}

Tensor UpBlock::operator()(const Tensor& x, const Tensor& classes) const {
  const Tensor inside = convolution1_(doubled(ops::relu(norm1_(x, classes))));  // [B, 2·H, 2·W, out]
  const Tensor branch = convolution2_(ops::relu(norm2_(inside, classes)));      // [B, 2·H, 2·W, out]
  // A 1 x 1 convolution gives the same result before and after doubling; before, it costs a quarter.
  return ops::add(branch, doubled(skip_(x)));
}

Generator::Generator(const SaganConfig& config)
    : width_(config.generator_widths[0]),
      attention_stage_(config.attention_stage),
      start_(config.noise_size, kStart * kStart * width_),
      norm_(config.generator_widths.back()),
      rgb_(config.generator_widths.back(), 3, 3) {
  const std::vector<std::int64_t>& widths = config.generator_widths;
  for (std::size_t i = 1; i < widths.size(); ++i) stages_.emplace_back(config.classes(), widths[i - 1], widths[i]);
  if (attention_stage_ > 0)
    attention_.emplace(widths[static_cast<std::size_t>(attention_stage_)],
                       nn::SelfAttention2dConfig{.label = Sagan::kAttention});
}

Tensor Generator::operator()(const Tensor& noise, const Tensor& classes) const {
  const std::int64_t batch = noise.dim(0), places = kStart * kStart;
  const Tensor started = start_(noise).reshape({batch, width_, places});  // [B, C, 16]: channels first in files
  // Channels go last: [B, 4, 4, C].
  Tensor x = ops::permute(started, {0, 2, 1}).reshape({batch, kStart, kStart, width_});
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    x = stages_[i](x, classes);  // [B, 2·H, 2·W, C of the stage]
    if (static_cast<std::int64_t>(i) + 1 == attention_stage_) x = (*attention_)(x);
  }
  return ops::tanh(rgb_(norm_(x, Activation::relu)));  // [B, size, size, 3]
}

DownBlock::DownBlock(std::int64_t in, std::int64_t out, const DownBlockConfig& config)
    : config_(config), convolution1_(in, out, 3), convolution2_(out, out, 3) {
  if (in != out || config.halves) skip_.emplace(in, out, 1);
}

Tensor DownBlock::operator()(const Tensor& x) const {
  const Tensor inside = convolution1_(config_.first ? x : ops::relu(x));  // [B, H, W, out]
  // Shape [B, H, W, out].
  const Tensor sum = ops::add(convolution2_(ops::relu(inside)), skip_ ? (*skip_)(x) : x);
  return config_.halves ? halved(sum) : sum;  // [B, H/2, W/2, out]
}

Discriminator::Discriminator(const SaganConfig& config)
    : attention_stage_(config.discriminator_attention_stage()),
      output_(config.discriminator_widths.back(), 1),
      classes_(config.classes(), config.discriminator_widths.back()) {
  std::int64_t in = 3;
  for (std::size_t i = 0; i < config.discriminator_widths.size(); ++i) {
    const std::int64_t out = config.discriminator_widths[i];
    stages_.emplace_back(
        in, out,
        DownBlockConfig{.first = i == 0, .halves = static_cast<std::int64_t>(i) < config.discriminator_halvings});
    in = out;
  }
  if (attention_stage_ > 0)
    attention_.emplace(config.discriminator_widths[static_cast<std::size_t>(attention_stage_ - 1)],
                       nn::SelfAttention2dConfig{.label = Sagan::kEvaluatorAttention});
}

Tensor Discriminator::operator()(const Tensor& images, const Tensor& classes) const {
  Tensor x = images;  // [B, size, size, 3]
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    x = stages_[i](x);  // [B, H', W', C of the stage]
    if (static_cast<std::int64_t>(i) + 1 == attention_stage_) x = (*attention_)(x);
  }
  x = ops::relu(x);
  // Sum over all places, then a linear score plus the inner product with the class (Miyato & Koyama 2018, equation 3).
  const Tensor seen = ops::sum(x.reshape({x.dim(0), x.dim(1) * x.dim(2), x.dim(3)}), 1);  // [B, C]
  const Tensor fits = ops::sum(ops::multiply(seen, classes_(seen, classes)), 1);          // [B]
  // Scores, f32 [B].
  return ops::cast(ops::add(output_(seen).reshape({x.dim(0)}), fits), DType::f32);
}

Sagan::Sagan(const SaganConfig& config)
    : config_((check_config(config, "sagan"), config)), generator_(config), discriminator_(config) {}

std::vector<nn::Parameters::Entry> Sagan::generator_parameters() {
  Named<Generator> named{kGenerator, generator_};
  return nn::Parameters::list(named);
}

std::vector<nn::Parameters::Entry> Sagan::discriminator_parameters() {
  Named<Discriminator> named{kDiscriminator, discriminator_};
  return nn::Parameters::list(named);
}

std::vector<AttentionPlace> Sagan::attention_places() const {
  if (config_.attention_stage == 0) return {};
  const std::int64_t side = kStart << config_.attention_stage;
  return {{.label = kAttention, .queries = {side, side}, .keys = {side / 2, side / 2}}};
}

Tensor discriminator_loss(const Sagan& model, const Tensor& real, const Tensor& noise, const Tensor& classes,
                          const Augment& augment) {
  const Tensor drawn = model.generator()(noise, classes);  // [B, size, size, 3]
  // Real and generated images in one batch: scores [2·B].
  const Tensor both = ops::concat({real, drawn}, 0);
  const Tensor scores = model.discriminator()(augment ? augment(both) : both, ops::concat({classes, classes}, 0));
  const std::int64_t batch = real.dim(0);
  return ops::hinge_discriminator(ops::slice(scores, 0, 0, batch), ops::slice(scores, 0, batch, batch));
}

Tensor generator_loss(const Sagan& model, const Tensor& noise, const Tensor& classes, const Augment& augment) {
  const Tensor drawn = model.generator()(noise, classes);
  return ops::hinge_generator(model.discriminator()(augment ? augment(drawn) : drawn, classes));
}

}  // namespace attend::models
