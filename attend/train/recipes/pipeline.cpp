#include "attend/train/recipes/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/tensor/backend.h"
#include "attend/train/loop/run_recovery.h"
#include "attend/train/loop/run_state.h"
#include "attend/train/recipes/flops.h"
#include "attend/train/recipes/memory_estimate.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/time_estimate.h"
#include "attend/world/agreement.h"

namespace attend::train {

namespace {

std::vector<std::unique_ptr<nn::Parameters>> make_weights(const std::vector<TrainedPart>& parts, Backend& backend,
                                                          const nn::ParametersOptions& options) {
  std::vector<std::unique_ptr<nn::Parameters>> weights;
  for (const TrainedPart& part : parts)
    weights.push_back(std::make_unique<nn::Parameters>(backend, part.parameters, options));
  return weights;
}

std::vector<train::OptimizerTurn> learners_of(const JobFacts& facts, const std::vector<nn::Parameters*>& weights) {
  const RunSettings& settings = facts.settings;
  const auto rate = schedule_of(settings, facts.width);
  const auto groups =
      groups_of(with_frozen(settings.freeze, settings.parameter_groups, weights), settings.layer_decay, weights);
  std::vector<train::OptimizerTurn> learners;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const TrainedPart& part = facts.parts[i];
    train::OptimizerOptions optimizer = optimizer_options(settings);
    optimizer.groups = groups[i];
    if (!part.averaged) optimizer.ema = 0, optimizer.lookahead = {};
    learners.push_back({.parameters = weights[i],
                        .optimizer = std::move(optimizer),
                        .rate = [rate, times = part.rate](std::int64_t step) { return times * rate(step); },
                        .turns = part.turns,
                        .name = part.name});
  }
  return learners;
}

// The folder that a run goes on from; who has none is told where it comes from, as far as the recipe knows.
std::filesystem::path begun_from(const Training& training) {
  const RunSettings& settings = training.settings;
  try {
    return start_folder(training.from, settings.out);
  } catch (const Error& error) {
    fail("{}{}{}", error.what(), settings.data.empty() ? "" : ". It learns from ", settings.data);
  }
}

// What all processes of a run have to agree on: every setting but those of a machine, and how long its files are.
Json agreed(const Training& training, const TrainOptions& options) {
  Json settings = Json::object();
  for (const auto& item : training.recipe.items()) {
    const std::string& key = item.key();
    if (key != "device" && key != "threads" && key != "workers" && key != "cache_bytes") settings[key] = item.value();
  }
  settings["--resume"] = options.resume;
  settings["--wire"] = options.distributed.wire == world::Wire::bf16 ? "bf16" : "f32";
  settings["--shard-optimizer"] = options.distributed.shard_optimizer;
  settings["--sync-batch-norm"] = options.distributed.sync_batch_norm;
  for (const train::DataFile& file : training.files) {
    std::error_code error;
    const bool text = std::filesystem::is_regular_file(file.path, error);
    const std::uintmax_t bytes = text ? std::filesystem::file_size(file.path, error) : 0;
    settings[fmt::format("size of '{}' ({})", file.path, file.key)] =
        std::filesystem::exists(file.path, error) ? Json(bytes) : Json("no such file");
  }
  return settings;
}

// "3.2 M", or all digits of a small one.
std::string count_text(std::int64_t count) {
  return count < 100'000 ? with_commas(count) : fmt::format("{:.1f} M", static_cast<double>(count) / 1e6);
}

// ", 3.2 M of them frozen"; "" where all learn.
std::string frozen_text(const JobFacts& facts, const std::vector<nn::Parameters*>& weights) {
  const RunSettings& settings = facts.settings;
  const auto groups = groups_of(with_frozen(settings.freeze, settings.parameter_groups, weights), 1, weights);
  std::int64_t frozen = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (const nn::Parameters::Entry& entry : weights[i]->entries())
      if (const auto found = train::group_of(groups[i], entry.name); found != groups[i].end() && found->frozen)
        frozen += entry.parameter->value.size();
  return frozen ? fmt::format(", {} of them frozen", count_text(frozen)) : "";
}

// Of a resumed run only what it has not done yet; nothing where that is all.
WorkOfRun work_left(const JobFacts& facts, const train::RunFolder& folder, std::int64_t weights) {
  const RunSettings& settings = facts.settings;
  WorkOfRun work{.steps = settings.steps,
                 .minutes = static_cast<double>(settings.minutes),
                 .goes_on = folder.resumed(),
                 .weights = weights,
                 .tokens = facts.tokens * settings.accumulate};
  if (!folder.resumed()) return work;
  const train::RunState done = train::read_counters(folder.path() / train::kState);
  if (work.minutes <= 0) {
    work.steps = std::max<std::int64_t>(0, work.steps - done.step);
  } else if (work.minutes -= done.seconds / 60; work.minutes <= 0) {
    work.steps = 0;
  }
  return work;
}

}  // namespace

TrainingOutcome run_training(const Training& training, Backend& backend, const TrainOptions& options) {
  const RunSettings& settings = training.settings;
  world::World& world = *options.world;
  world::check_agreement(world, agreed(training, options));
  if (!world.is_root()) world.barrier_after_work();  // behind the preparations of the one that leads
  const bool starts_from = !options.resume && !training.from.empty();
  const std::filesystem::path from = options.resume ? std::filesystem::path(settings.out)
                                     : starts_from  ? begun_from(training)
                                                    : std::filesystem::path();
  train::RunFolder folder({.out = settings.out,
                           .resume = options.resume,
                           .overwrite = options.overwrite,
                           .allow_changes = options.allow_changes,
                           .follows = !world.is_root(),
                           .settings = training.recipe,
                           .data = training.files,
                           .about_data = settings.data});
  const nn::ParametersOptions computed = parameters_options(settings, backend);
  const std::unique_ptr<TrainingJob> trainee = training.prepare(
      {.folder = folder, .backend = backend, .dtype = computed.dtype, .from = from, .options = options});
  const JobFacts facts = trainee->facts();
  if (world.is_root()) world.barrier_after_work();

  const auto weights = make_weights(facts.parts, backend, computed);
  std::vector<nn::Parameters*> parts;
  std::int64_t count = 0;
  for (const auto& part : weights) parts.push_back(part.get()), count += part->count();
  trainee->start(parts);
  stage_json(folder, "recipe.json", facts.recipe);
  options.messages << fmt::format("{} with {} weights{}, {} on {}{}{}\n", facts.name, count_text(count),
                                  frozen_text(facts, parts), name_of(computed.dtype), backend.name(),
                                  world.size() > 1 ? fmt::format(", {} processes", world.size()) : "", facts.more);

  const WorkOfRun work = work_left(facts, folder, count);
  for (const std::string& line :
       {memory_text(facts.sizes, count, computed.dtype, recompute_named(facts.settings.recompute),
                    static_cast<double>(options.memory)),
        time_text(work, estimated_seconds(work, backend, computed.dtype)), warmup_warning(facts.settings),
        rate_warning(facts.settings)})
    if (!line.empty()) options.messages << line << "\n";

  const std::unique_ptr<train::Task> task = trainee->task();
  train::TrainerOptions trainer = trainer_options(facts.settings, folder, options);
  trainer.flops_per_item = counted_flops(folder.prepared() / "config.json", task->items(), facts.length);
  TrainingOutcome result{train::train(*task, learners_of(facts, parts), trainer), facts.sample};
  result.flops_text = flops_text(result, world.size(), backend.on_host() ? training_speed(backend, computed.dtype) : 0);
  if (!result.interrupted && world.is_root()) {
    trainee->finish(*task);
    if (options.examples) result.examples = best_and_worst(task->scored_examples());
  }
  return result;
}

void report_test(const RunContext& run, const std::string& path, const train::Validation& verdict) {
  run.options.messages << fmt::format("{}: {}\n", path, verdict.text);
  Json json = verdict.json;
  json["summary"] = verdict.text;
  run.folder.write("test.json", [&](const FileWriter& write) { write(json.dump(2) + "\n"); });
}

void report_broken(const RunContext& run, const std::vector<std::string>& files) {
  for (const std::string& file : files) run.options.messages << fmt::format("left out: {}\n", file);
}

std::string compared_runs(const RunSettings& settings) {
  std::string text;
  for (const std::string& other : settings.compare) {
    const std::filesystem::path file = std::filesystem::path(other) / "test.json";
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    const Json json = read_json(file);
    if (json.is_object() && json.contains("summary") && json["summary"].is_string())
      text += fmt::format("for comparison, {}: {}\n", other, json["summary"].get<std::string>());
  }
  return text;
}

std::vector<train::DataFile> files_or_folders(const std::vector<train::DataFile>& named) {
  std::vector<train::DataFile> files;
  for (const train::DataFile& file : named)
    if (!file.path.empty()) files.push_back({file.key, file.path, true});
  return files;
}

void stage_json(train::RunFolder& folder, const std::string& name, const Json& json) {
  folder.stage(name, json.dump(2) + "\n");
}

}  // namespace attend::train
