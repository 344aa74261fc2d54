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
  std::string out, data;
  std::vector<std::string> then, compare;
  std::int64_t accumulate = 1;
  std::int64_t steps = 10000;
  float minutes = 0;
  std::string schedule = "inverse-square-root";
  float learning_rate = 0;
  std::int64_t warmup = 4000;
  float clip_norm = 1, weight_decay = 0;
  float layer_decay = 1;
  std::vector<GroupSettings> parameter_groups;
  std::vector<std::string> freeze;
  float beta1 = 0.9f, beta2 = 0.98f, epsilon = 1e-9f, ema = 0;
  std::int64_t log_every = 50, validate_every = 500, save_every = 500;
  std::int64_t patience = 0, average = 5;
  std::uint64_t seed = 1;
  std::string device = "cpu", dtype = "auto", recompute = "none";
  std::int64_t threads = 0;

  template <class Visitor>
  void visit_run(Visitor&& v) {
    v("out", out, "folder of the model and the run");
    v("data", data, "what the files are and where they come from, for who does not have them; only files have it");
    v("then", then,
      "lines to print in the end: what to do with the model, {out}; {recipes} is the folder of the recipe; only files "
      "have them");
    v("compare", compare, "folders of runs whose results on their tests are printed in the end; only files have them");
    v("accumulate", accumulate, "batches a step");
    v("steps", steps, "of the optimiser");
    v("minutes", minutes,
      "above 0: stop after so long, the schedule of the learning rate stretched over that time; such a run does not "
      "repeat bit for bit");
    v("schedule", schedule, "inverse-square-root (Vaswani et al. 2017), cosine or linear");
    v("learning_rate", learning_rate,
      "at the end of the warm-up; translation's 0 is the paper's, 1 / sqrt(width x 4000), less with a longer warm-up");
    v("warmup", warmup, "steps of rising learning rate; unless told, a tenth of the steps at most");
    v("clip_norm", clip_norm, "largest norm of the gradient; 0: any");
    v("weight_decay", weight_decay, "of matrices (AdamW)");
    v("layer_decay", layer_decay, "learning rate of a layer, times that of the one above it; 1: the same for all");
    v("parameter_groups", parameter_groups, "parameters that learn otherwise than the rest, or not at all");
    v("freeze", freeze,
      "parts that stay as they are, by the names that attend info --tensors shows: encoder, transformer.h.0, *.bias; "
      "may be given several times");
    v("beta1", beta1, "of Adam"), v("beta2", beta2, "of Adam"), v("epsilon", epsilon, "of Adam");
    v("ema", ema, "decay of a moving average of the weights, which is validated and saved in their place; 0: none");
    v("log_every", log_every, "steps between lines of the log");
    v("validate_every", validate_every, "steps between validations");
    v("save_every", save_every, "steps between saved states");
    v("patience", patience, "validations without a better model before stopping; 0: never stop early");
    v("average", average, "checkpoints averaged in the end; 1: none");
    v("seed", seed, "of weights, order and dropout");
    v("device", device, "cpu, cuda or cuda:N");
    v("dtype", dtype,
      "f32, bf16, bf16x3 (f32 with products of bf16 pieces, for CPUs with matrix units), fp8 (bf16 with products of "
      "8-bit floats, for GPUs) or auto: bf16 on a GPU");
    v("recompute", recompute,
      "none, or for less memory and more time, with the same result: feed-forward, or layer (least memory)");
    v("threads", threads, "CPU threads, 0 for all cores");
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
  bool resume = false;                // go on with the run in the folder
  bool overwrite = false;             // start anew although there is one
  bool allow_changes = false;         // resume although settings or texts are others
  train::Painter* painter = nullptr;  // records what the model makes of fixed inputs on the way
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
