// attend train: two text files, or one recipe, become a model folder.
#include "attend/cli/train.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/cli/flags.h"
#include "attend/models/presets.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/tasks/train_translation.h"

namespace attend {

namespace {

struct TrainOptions {
  std::string recipe;
  bool resume = false, overwrite = false;
  Json given = Json::object();  // settings named by flags
};

constexpr const char* kExamples = R"(Examples:
  attend train --source train.en --target train.fr --valid-source valid.en --valid-target valid.fr --out model
  attend train recipes/multi30k-en-de.json --device cuda --seed 2       flags win over the recipe
  attend train --resume --out model                                     goes on where a run was stopped
  attend train recipes/multi30k-en-de.json --model rnn-attention --hidden 512 --out rnn
Ctrl-C saves the run and ends; --resume goes on, to the same weights as if it had never stopped.
The folder then holds the model: attend translate --model DIR.)";

// The recipe of the run in the folder, or the file that was named, and the flags laid over it.
Json settings_of(const TrainOptions& options, std::string& what) {
  Json settings = Json::object();
  if (!options.recipe.empty()) {
    what = options.recipe;
    settings = read_json(options.recipe);
  } else if (options.resume && options.given.contains("out")) {
    const std::filesystem::path saved = std::filesystem::path(options.given["out"].get<std::string>()) / "recipe.json";
    check(std::filesystem::exists(saved), "train: there is no run in '{}'", saved.parent_path().string());
    what = saved.string();
    settings = read_json(saved);
  }
  check(settings.is_object(), "{}: a recipe is a JSON object", what);
  for (const auto& item : options.given.items()) settings[item.key()] = item.value();
  return settings;
}

void run_train(const TrainOptions& options, const Streams& streams) {
  std::string what = "train";
  const Json settings = settings_of(options, what);
  const tasks::ResolvedRecipe resolved = tasks::resolve_recipe(settings, what);
  const auto backend = open_backend(resolved.recipe.device, {.threads = static_cast<int>(resolved.recipe.threads)});
  const train::TrainingResult result = tasks::train_translation(resolved, *backend,
                                                                {.resume = options.resume,
                                                                 .overwrite = options.overwrite,
                                                                 .messages = streams.err,
                                                                 .terminal = streams.err_terminal});
  if (result.interrupted) {
    streams.out << fmt::format("Stopped at step {}. To go on: attend train --resume --out {}\n", result.steps,
                               resolved.recipe.out);
    return;
  }
  streams.out << fmt::format(
      "{} after {} steps and {}: {}. To use it: attend translate --model {}\n",
      result.stopped_early ? "Stopped early" : "Done", result.steps, duration_text(result.seconds),
      result.averaged ? "the average of the last checkpoints is the model" : "the best checkpoint is the model",
      resolved.recipe.out);
}

}  // namespace

void add_train_command(CLI::App& app, const Streams& streams) {
  add_command<TrainOptions>(
      app, streams, {.name = "train", .help = "Trains a model to translate.", .examples = kExamples},
      [](CLI::App& flags, TrainOptions& options) {
        flags.add_option("recipe", options.recipe, "a JSON file with any of the settings below");
        flags.add_flag("--resume", options.resume, "go on with the run in --out");
        flags.add_flag("--overwrite", options.overwrite, "start anew although --out holds a run");
        add_field_flags(flags, tasks::TranslationRecipe{}, options.given, "Run");
        models::TransformerConfig transformer = models::transformer_preset("small");
        add_field_flags(flags, transformer, options.given, "Transformer (defaults: --preset small)");
        add_field_flags(flags, models::RnnConfig{}, options.given, "RNN");
      },
      run_train);
}

}  // namespace attend
