#include "attend/train/recipes/run_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/tensor/backend.h"
#include "attend/train/loop/schedule.h"

namespace attend::train {

namespace {

constexpr std::int64_t kPaperWarmup = 4000;
constexpr const char* kPaperSchedule = "inverse-square-root";

}  // namespace

void check_one_of(std::string_view what, const char* key, const std::string& value,
                  std::initializer_list<const char*> known) {
  std::string names;
  for (const char* name : known) {
    if (value == name) return;
    names += names.empty() ? name : std::string(", ") + name;
  }
  fail("{}: '{}' is '{}', but must be one of {}", what, key, value, names);
}

void check_settings(const RunSettings& settings, std::string_view what) {
  check_one_of(what, "schedule", settings.schedule, {kPaperSchedule, "cosine", "linear"});
  check_one_of(what, "optimizer", settings.optimizer, {"adamw", "sgd"});
  check(settings.momentum >= 0 && settings.momentum < 1, "{}: 'momentum' must be at least 0 and below 1, not {}", what,
        settings.momentum);
  check_one_of(what, "dtype", settings.dtype, {"auto", "f32", "bf16", "bf16x3", "fp8"});
  check_one_of(what, "recompute", settings.recompute, {"none", "feed-forward", "layer"});
  const std::pair<const char*, std::int64_t> positive[] = {
      {"accumulate", settings.accumulate}, {"steps", settings.steps},
      {"log_every", settings.log_every},   {"validate_every", settings.validate_every},
      {"save_every", settings.save_every}, {"average", settings.average}};
  for (const auto& [key, value] : positive) check(value >= 1, "{}: '{}' must be at least 1, not {}", what, key, value);
  check(settings.learning_rate >= 0 && settings.clip_norm >= 0 && settings.weight_decay >= 0 && settings.warmup >= 0,
        "{}: learning_rate, warmup, clip_norm and weight_decay cannot be negative", what);
  check(settings.minutes >= 0 && settings.minutes < 1e6f, "{}: 'minutes' is {}, but must be 0 (by steps) or more", what,
        settings.minutes);
  check(settings.lookahead >= 0 && settings.lookahead_share >= 0 && settings.lookahead_share < 1 &&
            settings.lookahead_power >= 0,
        "{}: 'lookahead' ({} steps) and 'lookahead_power' ({}) cannot be negative, and 'lookahead_share' ({}) must be "
        "at least 0 and below 1",
        what, settings.lookahead, settings.lookahead_power, settings.lookahead_share);
  check(settings.lookahead == 0 || settings.ema == 0, "{}: 'lookahead' and 'ema' exclude each other; take one", what);
  check(settings.layer_decay > 0 && settings.layer_decay <= 1,
        "{}: 'layer_decay' must be above 0 and at most 1, not {}", what, settings.layer_decay);
  check_groups(settings.parameter_groups, what);
}

void settle_settings(RunSettings& settings, const RunSettings& defaults, const Json& given, std::string_view what) {
  constexpr std::int64_t kTenth = 10;
  if (!given.contains("warmup") && settings.steps > 0)
    settings.warmup = std::min(settings.warmup, settings.steps / kTenth);
  check(settings.learning_rate != 0 || defaults.learning_rate == 0 || settings.schedule == kPaperSchedule,
        "{}: with 'learning_rate' 0 nothing is learned; leave it out for {}, or give one above 0", what,
        defaults.learning_rate);
}

std::string length_text(const RunSettings& settings) {
  if (settings.minutes > 0) return fmt::format(", for {}", duration_text(60 * static_cast<double>(settings.minutes)));
  return fmt::format(", {} steps", with_commas(settings.steps));
}

std::string warmup_warning(const RunSettings& settings) {
  if (settings.warmup <= settings.steps / 2) return "";
  return fmt::format(
      "warning: 'warmup' is {} of {} steps, so the learning rate {}; a tenth, --warmup {}, is usual",
      with_commas(settings.warmup), with_commas(settings.steps),
      settings.warmup < settings.steps ? "rises for more than half of the run" : "never reaches its peak",
      std::max<std::int64_t>(1, settings.steps / 10));
}

std::string rate_warning(const RunSettings& settings) {
  constexpr float kMost = 0.1f;
  if (settings.learning_rate <= kMost || settings.optimizer != "adamw") return "";
  return fmt::format(
      "warning: 'learning_rate' is {}; Adam moves every weight by about that much a step, so above {} nothing is "
      "learned",
      settings.learning_rate, kMost);
}

Recompute recompute_named(std::string_view name) {
  if (name == "layer") return Recompute::layer;
  check(name == "none" || name == "feed-forward", "recompute: '{}' is none of none, feed-forward and layer", name);
  return name == "none" ? Recompute::none : Recompute::feed_forward;
}

nn::ParametersOptions parameters_options(const RunSettings& settings, const Backend& backend) {
  const std::string named = settings.dtype != "auto" ? settings.dtype : backend.on_host() ? "f32" : "bf16";
  return {.dtype = named == "f32" || named == "bf16x3" ? DType::f32 : DType::bf16,
          .seed = settings.seed,
          .products8 = named == "fp8"};
}

std::function<float(std::int64_t)> schedule_of(const RunSettings& settings, std::int64_t width) {
  // The paper's peak grows as the warm-up gets shorter, and that of 30 steps, 0.01 at width 256, learns nothing.
  const auto counted = static_cast<double>(std::max(settings.warmup, kPaperWarmup));
  const float peak = settings.learning_rate > 0
                         ? settings.learning_rate
                         : static_cast<float>(1 / std::sqrt(static_cast<double>(width) * counted));
  if (settings.schedule == kPaperSchedule)
    return train::InverseSquareRoot{.warmup = settings.warmup, .width = width, .peak = peak};
  if (settings.schedule == "linear")
    return train::Linear{.warmup = settings.warmup, .steps = settings.steps, .peak = peak};
  return train::Cosine{.warmup = settings.warmup, .steps = settings.steps, .peak = peak};
}

train::OptimizerOptions optimizer_options(const RunSettings& settings) {
  return {
      .kind = settings.optimizer == "sgd" ? train::OptimizerOptions::sgd : train::OptimizerOptions::adamw,
      .beta1 = settings.beta1,
      .beta2 = settings.beta2,
      .eps = settings.epsilon,
      .weight_decay = settings.weight_decay,
      .momentum = {.share = settings.momentum, .nesterov = settings.momentum > 0 && settings.nesterov},
      .clip_norm = settings.clip_norm,
      .ema = settings.ema,
      .lookahead = {.every = settings.lookahead, .share = settings.lookahead_share, .power = settings.lookahead_power}};
}

train::TrainerOptions trainer_options(const RunSettings& settings, train::RunFolder& folder,
                                      const TrainOptions& options) {
  return {.folder = &folder,
          .steps = settings.steps,
          .minutes = static_cast<double>(settings.minutes),
          .accumulate = settings.accumulate,
          .seed = settings.seed,
          .log_every = settings.log_every,
          .validate_every = settings.validate_every,
          .save_every = settings.save_every,
          .patience = settings.patience,
          .average = settings.average,
          .recompute = recompute_named(settings.recompute),
          .painter = options.painter,
          .stopped = options.stopped,
          .messages = &options.messages,
          .terminal = options.terminal,
          .world = options.world,
          .distributed = options.distributed};
}

}  // namespace attend::train
