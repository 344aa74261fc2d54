#include "attend/api/training.h"

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/train/recipes/trainings.h"

namespace attend {

namespace {

train::Training training_of(const Json& settings) {
  check(settings.is_object(), "settings: expected a JSON object");
  const Json named = settings.contains("task") ? settings["task"] : Json("translation");
  check(named.is_string(), "settings: 'task' is {}, but must be a name", named.dump());
  const std::string task = named.get<std::string>();
  const std::pair<std::string_view, train::Training (*)(const Json&, std::string_view)> known[] = {
      {"translation", train::translation_training},
      {"language-model", train::language_training},
      {"masked-lm", train::masked_training},
      {"classify", train::head_training},
      {"tag", train::head_training},
      {"answer", train::head_training},
      {"classify-images", train::image_training},
      {"describe", train::caption_training},
      {"detect", train::detect_training},
      {"draw", train::draw_training}};
  for (const auto& [name, make] : known)
    if (name == task) return make(settings, "settings");
  fail("settings: 'task' is '{}', which attend train does not know", task);
}

}  // namespace

TrainingSummary run_training(const Json& settings, const TrainingOptions& options) {
  const train::Training training = training_of(settings);
  const train::RunSettings& run = training.settings;
  const auto backend = open_backend(
      run.device,
      {.threads = static_cast<int>(run.threads), .fast_products = run.dtype == "bf16x3", .batch_invariant = false});
  std::ostream silent(nullptr);
  const train::TrainingOutcome result =
      train::run_training(training, *backend,
                          {.resume = options.resume,
                           .overwrite = options.overwrite,
                           .allow_changes = options.allow_changes,
                           .messages = options.messages ? *options.messages : silent});
  return {.steps = result.steps,
          .interrupted = result.interrupted,
          .stopped_early = result.stopped_early,
          .seconds = result.seconds};
}

}  // namespace attend
