#include "attend/api/training.h"

#include <ostream>
#include <string>
#include <string_view>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/train/recipes/trainings.h"

namespace attend {

namespace {

train::Training training_of(const Json& settings) {
  check(settings.is_object(), "settings: expected a JSON object");
  const Json named = settings.contains("task") ? settings["task"] : Json(std::string(train::trained_tasks()[0].name));
  check(named.is_string(), "settings: 'task' is {}, but must be a name", named.dump());
  const std::string task = named.get<std::string>();
  for (const train::TrainedTask& known : train::trained_tasks())
    if (known.name == task) return known.training(settings, "settings");
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
