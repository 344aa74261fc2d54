// The settings every training run has, whatever is trained: steps, learning rate, logs, device. A recipe for a task
// (translation_recipe.h, language_recipe.h) is these and its own.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/train/loop/trainer.h"
#include "attend/train/recipes/group_settings.h"

namespace attend::train {

struct RunSettings {
  std::string out, data, command;
  std::vector<std::string> then, compare;
  std::int64_t accumulate = 1;
  std::int64_t steps = 10000;
  float minutes = 0;
  std::string schedule = "inverse-square-root";
  float learning_rate = 0;
  std::int64_t warmup = 4000;
  std::string optimizer = "adamw";
  float momentum = 0.9f;
  bool nesterov = true;
  float clip_norm = 1, weight_decay = 0;
  float layer_decay = 1;
  std::vector<GroupSettings> parameter_groups;
  std::vector<std::string> freeze;
  float beta1 = 0.9f, beta2 = 0.98f, epsilon = 1e-9f, ema = 0;
  std::int64_t lookahead = 0;
  float lookahead_share = 0.5f, lookahead_power = 0;
  std::int64_t log_every = 50, validate_every = 500, save_every = 500;
  std::int64_t patience = 0, average = 5;
  std::uint64_t seed = 1;
  std::string device = "cpu", dtype = "auto", recompute = "none";
  std::int64_t threads = 0;

  template <class Visitor>
  void visit_run(Visitor&& v) {
    v("out", out, "Folder for the model and the state of the run.");
    v("data", data, "Where the data files come from, for users who do not have them. Recipe files only.");
    v("command", command, "The command that repeats the run of the documentation. Recipe files only.");
    v("then", then,
      "Lines to print after training; {out} is the model folder, {recipes} the folder of the recipe. Recipe "
      "files only.");
    v("compare", compare, "Run folders whose test results are printed after training. Recipe files only.");
    v("accumulate", accumulate, "Gradient accumulation: batches per optimiser step.");
    v("steps", steps, "Number of optimiser steps; 0 uses --epochs, for tasks that have it.");
    v("minutes", minutes,
      "Stop after this many minutes and stretch the learning-rate schedule over that time; 0 means no limit. "
      "Such a run is not bit-for-bit reproducible.");
    v("schedule", schedule, "Learning-rate schedule: inverse-square-root (Vaswani et al. 2017), cosine or linear.");
    v("learning_rate", learning_rate,
      "Peak learning rate, reached at the end of the warm-up. For translation, 0 means 1 / sqrt(width x 4000) "
      "as in the paper, or less with a longer warm-up.");
    v("warmup", warmup, "Warm-up steps, by default at most a tenth of all steps; -1 derives them from --steps.");
    v("clip_norm", clip_norm, "Clip gradients to this global norm; 0 disables clipping.");
    v("optimizer", optimizer, "Optimiser: adamw, or sgd (with momentum).");
    v("momentum", momentum, "SGD: momentum; 0 disables it.");
    v("nesterov", nesterov, "SGD: Nesterov momentum.");
    v("weight_decay", weight_decay,
      "Weight decay, applied to matrices only. SGD adds it to the gradient, AdamW does not.");
    v("layer_decay", layer_decay,
      "Layer-wise learning-rate decay: factor per layer, from the top down; 1 disables it.");
    v("parameter_groups", parameter_groups,
      "Parameter groups with their own learning rate or weight decay, or frozen. Recipe files only.");
    v("freeze", freeze,
      "Freeze the parameters with this name, as shown by attend info --tensors: encoder, transformer.h.0, "
      "*.bias. Repeat for more.");
    v("beta1", beta1, "Adam beta1."), v("beta2", beta2, "Adam beta2."), v("epsilon", epsilon, "Adam epsilon.");
    v("ema", ema,
      "Decay of an exponential moving average of the weights, which is then validated and saved; 0 disables it.");
    v("lookahead", lookahead,
      "Lookahead (Zhang et al. 2019): every so many steps slow weights follow the weights, which go on from there. The "
      "slow ones are validated and saved. 0 disables it.");
    v("lookahead_share", lookahead_share, "Lookahead: share of the slow weights that stays.");
    v("lookahead_power", lookahead_power,
      "Lookahead: the share grows with this power of the progress of the run, as in airbench (3); 0 keeps it the "
      "same.");
    v("log_every", log_every, "Steps between log lines.");
    v("validate_every", validate_every, "Steps between validations.");
    v("save_every", save_every, "Steps between saved checkpoints.");
    v("patience", patience, "Stop after this many validations without improvement; 0 never stops early.");
    v("average", average, "Number of checkpoints to average at the end; 1 disables averaging.");
    v("seed", seed, "Random seed for weights, data order and dropout.");
    v("device", device, "Device: cpu, cuda or cuda:N.");
    v("dtype", dtype,
      "Compute type: f32; bf16; bf16x3 (f32 from three bf16 products, for CPUs with matrix units); fp8 (bf16 "
      "with 8-bit products, for GPUs); auto (bf16 on a GPU, else f32).");
    v("recompute", recompute,
      "Recompute activations to save memory, with the same result: none, feed-forward, or layer (least memory).");
    v("threads", threads, "CPU threads; 0 uses all cores.");
  }
};

// Throws Error naming a value that makes no sense; what opens the message.
void check_settings(const RunSettings& settings, std::string_view what);
// Settings of a task as given were read over its own defaults: a warm-up that was not asked for is cut to a tenth of
// the steps, where they are known, and a learning rate of 0 is refused where the task has one that is not.
void settle_settings(RunSettings& settings, const RunSettings& defaults, const Json& given, std::string_view what);
// How long it trains, behind what is trained: ", 120 steps", or ", for 3 min 00 s".
std::string length_text(const RunSettings& settings);
// A sentence on a warm-up that leaves little of the run, or nothing; "" when there is nothing to say.
std::string warmup_warning(const RunSettings& settings);
// The same of a learning rate that is too large for Adam.
std::string rate_warning(const RunSettings& settings);
// 'key' is 'value', but must be one of ...
void check_one_of(std::string_view what, const char* key, const std::string& value,
                  std::initializer_list<const char*> known);

Recompute recompute_named(std::string_view name);  // "none", "feed-forward" or "layer"
// What a model that learns computes in on this device, and how it begins.
nn::ParametersOptions parameters_options(const RunSettings& settings, const Backend& backend);

struct TrainOptions {
  bool resume = false;                 // go on with the run in the folder
  bool overwrite = false;              // start anew although there is one
  bool allow_changes = false;          // resume although settings or texts are others
  bool examples = false;               // keep the best and the worst validation examples (TrainingOutcome)
  train::Painter* painter = nullptr;   // records what the model makes of fixed inputs on the way
  std::function<bool()> stopped = {};  // as in TrainerOptions
  std::ostream& messages;
  Terminal terminal = {};
  std::size_t memory = 0;                 // bytes of the device; 0: unknown
  world::World* world = &world::alone();  // the processes that learn together; rank 0 writes and speaks
  train::DistributedOptions distributed = {};
};

// What the trainer asks for. width: of the model, for the paper's learning rate.
std::function<float(std::int64_t step)> schedule_of(const RunSettings& settings, std::int64_t width);
train::OptimizerOptions optimizer_options(const RunSettings& settings);
train::TrainerOptions trainer_options(const RunSettings& settings, train::RunFolder& folder,
                                      const TrainOptions& options);

}  // namespace attend::train
