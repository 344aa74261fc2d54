#include "attend/train/recipes/automatic/automatic.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/interrupt.h"
#include "attend/base/progress.h"
#include "attend/data/facts/report.h"
#include "attend/tensor/backend.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/time_estimate.h"

namespace attend::train {

namespace {

namespace fs = std::filesystem;

std::string string_in(const Json& settings, const char* key) {
  const auto found = settings.find(key);
  return found != settings.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> strings_in(const Json& settings, const char* key) {
  const auto found = settings.find(key);
  if (found == settings.end()) return {};
  if (found->is_string()) return {found->get<std::string>()};
  std::vector<std::string> list;
  for (const Json& one : *found)
    if (one.is_string()) list.push_back(one.get<std::string>());
  return list;
}

// The columns and the format of a table, where the user did not name them.
void name_columns(const data::Recognised& data, Json& settings) {
  const auto set = [&](const char* key, const std::string& value) {
    if (!settings.contains(key) && !value.empty()) settings[key] = value;
  };
  if (data.kind == data::DataKind::labelled_text) {
    set("text_column", data.first), set("pair_column", data.second), set("label_column", data.label);
    set("format", data.format == data::TableFormat::csv   ? "csv"
                  : data.format == data::TableFormat::tsv ? "tsv"
                                                          : "jsonl");
    if (!data.header && !settings.contains("header")) settings["header"] = false;
  } else if (data.kind == data::DataKind::text_pairs) {
    set("source_column", data.first), set("target_column", data.second);
  }
}

bool reads_text(std::string_view task) { return task == "language-model" || task == "masked-lm"; }

// Validation data where there is none.
void hold_out(std::string_view task, const data::DataFacts& facts, Json& settings, std::vector<Chosen>& table) {
  const bool images = facts.image_height.count > 0;
  const char* key = task == "translation" ? "valid_source" : reads_text(task) ? "valid_text" : "valid";
  if (settings.contains(key) || settings.contains("valid_share")) return;
  const float share = reads_text(task) ? 0.1f : images ? 0.15f : held_out_share(facts.examples);
  settings["valid_share"] = share;
  std::string flag = fmt::format("--{}", key);
  std::ranges::replace(flag, '_', '-');
  table.push_back(
      {"validation", fmt::format("{:.3g} % of the data", 100 * share), "held out, because none was given", flag});
}

std::vector<std::string> bundled_models(const std::string& out) {
  std::vector<std::string> names;
  for (const char* name : {"bert", "vit-cifar10", "detr-scenes"}) {
    try {
      start_folder(name, out);
      names.emplace_back(name);
    } catch (const Error&) {
    }
  }
  return names;
}

// A folder that goes when this does.
struct Scratch {
  explicit Scratch(const std::string& out) : path(out + ".timing") {}
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const fs::path path;
};

// Runs a few steps of the real training.
Timing timed(const AutomaticRequest& request, Json settings, Backend& backend) {
  constexpr std::int64_t kSteps = 10;
  const Scratch scratch(string_in(settings, "out"));
  settings.update(Json{{"out", scratch.path.string()},
                       {"steps", kSteps},
                       {"warmup", 1},
                       {"log_every", 1},
                       {"validate_every", kSteps},
                       {"save_every", kSteps},
                       {"average", 1}});
  for (const char* key : {"minutes", "test", "test_source", "test_target", "command", "then", "compare"})
    settings.erase(key);
  if (request.task == "translation") settings["bleu_sentences"] = 0, settings["select"] = "loss";
  if (request.task == "describe") settings["score_images"] = 0, settings["select"] = "loss";
  std::ostream nothing(nullptr);
  const TrainingOutcome result =
      run_training(request.training(settings, "automatic settings"), backend, {.overwrite = true, .messages = nothing});
  if (result.interrupted) throw Interrupted{result.interrupted};
  return timing_from_log(read_file(scratch.path / "log.jsonl"));
}

// What was given is not chosen.
Json with_given(Json chosen, const Json& given) {
  for (const auto& item : given.items()) chosen[item.key()] = item.value();
  return chosen;
}

std::string flag_name(const std::string& key) {
  std::string flag = "--" + key;
  std::ranges::replace(flag, '_', '-');
  return flag;
}

}  // namespace

bool can_choose(std::string_view task, const Json& settings) {
  const auto has = [&](const char* key) {
    return !strings_in(settings, key).empty() && strings_in(settings, key)[0] != "";
  };
  if (!has_plan(task) || !has("out")) return false;
  if (task == "translation") return has("pairs") || (has("source") && has("target"));
  return has(reads_text(task) ? "text" : "train");
}

Json settings_for(const data::Recognised& data) {
  const std::string path = data.paths[0].string();
  switch (data.kind) {
    case data::DataKind::text:
      return {{"task", "language-model"}, {"text", Json::array({Json(path)})}};
    case data::DataKind::parallel_text:
      return {{"task", "translation"}, {"source", path}, {"target", data.paths[1].string()}};
    case data::DataKind::text_pairs:
      return {{"task", "translation"}, {"pairs", path}};
    case data::DataKind::labelled_text:
      return {{"task", "classify"}, {"train", path}};
    case data::DataKind::tagged_words:
      return {{"task", "tag"}, {"train", path}};
    case data::DataKind::answers:
      return {{"task", "answer"}, {"train", path}};
    case data::DataKind::labelled_images:
      return {{"task", "classify-images"}, {"train", path}};
    case data::DataKind::objects:
      return {{"task", "detect"}, {"train", path}};
    case data::DataKind::captions:
      return {{"task", "describe"}, {"train", path}};
    case data::DataKind::loose_images:
      break;
  }
  fail(
      "{}: expected a folder for each class, 'cat/1.jpg', found images without classes; sort them into folders, or "
      "give a .csv with a path and a label per line",
      path);
}

data::DataFacts facts_for(std::string_view task, const Json& settings) {
  std::vector<fs::path> paths;
  if (task == "translation" && string_in(settings, "pairs").empty())
    paths = {string_in(settings, "source"), string_in(settings, "target")};
  else if (task == "translation")
    paths = {string_in(settings, "pairs")};
  else if (reads_text(task))
    paths = {strings_in(settings, "text")[0]};
  else
    paths = {string_in(settings, "train")};
  data::Recognised data = data::recognise(paths);
  if (reads_text(task)) data.kind = data::DataKind::text, data.what = "plain text";
  if (task == "tag" && data.kind == data::DataKind::text) data.kind = data::DataKind::tagged_words;
  const auto column = [&](const char* key, std::string& name) {
    if (const std::string given = string_in(settings, key); !given.empty()) name = given;
  };
  column("text_column", data.first), column("pair_column", data.second), column("label_column", data.label);
  column("source_column", data.first), column("target_column", data.second);
  data::DataFacts facts = data::gather_facts(data, {.all_images = false});
  if (reads_text(task))  // of several files the size of all
    for (std::size_t i = 1; i < strings_in(settings, "text").size(); ++i) {
      std::error_code error;
      const auto more = fs::file_size(strings_in(settings, "text")[i], error);
      if (!error) facts.texts[0].bytes += static_cast<std::int64_t>(more);
    }
  return facts;
}

Timing timing_from_log(std::string_view log) {
  std::vector<double> ends;
  double validated = 0;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const Json line = parse_json(std::string(log.substr(0, end)), "log.jsonl");
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.contains("validation") && line.contains("seconds")) validated = line["seconds"].get<double>();
    if (line.contains("loss") && line.contains("seconds")) ends.push_back(line["seconds"].get<double>());
  }
  check(!ends.empty(), "no step was timed");
  std::vector<double> steps;
  for (std::size_t i = 1; i < ends.size(); ++i) steps.push_back(ends[i] - ends[i - 1]);
  if (steps.empty()) steps.push_back(ends[0]);
  // The first steps plan memory and find kernels; of the others the median.
  if (steps.size() > 2) steps.erase(steps.begin());
  std::ranges::sort(steps);
  return {.step = steps[steps.size() / 2], .validation = std::max(0.0, validated - ends.back())};
}

Json automatic_settings(const AutomaticRequest& request, Backend& backend, std::ostream& messages) {
  const data::DataFacts facts = facts_for(request.task, request.settings);
  messages << fmt::format("{}: {}, {} {}. First examples, as they are read:\n{}", facts.data.paths[0].string(),
                          facts.data.what, with_commas(facts.examples), facts.noun, data::samples_text(facts));
  for (const data::Finding& finding : facts.findings) messages << fmt::format("note: {}\n", finding.text);
  Json base = request.settings;
  base.erase("minutes");
  std::vector<Chosen> table;
  name_columns(facts.data, base);
  hold_out(request.task, facts, base, table);
  Machine machine{.operations = backend.on_host() ? training_speed(backend, DType::f32) : 2e13,
                  .gpu = !backend.on_host(),
                  .bundled = bundled_models(string_in(base, "out"))};
  if (request.task == "classify-images" && !base.contains("from"))
    machine.probed = probe_images(string_in(base, "train"), {"vit-cifar10", "vit-fashion-mnist"}, backend);
  Plan plan = plan_for(request.task, {facts, request.budget, machine});
  Timing timing = timed(request, with_given(plan.settings, base), backend);
  // The first guess is by a product alone. Where real steps took longer, a smaller model may be the right one.
  constexpr int kTries = 3;
  for (int i = 0; i < kTries && plan.step_operations > 1; ++i) {
    machine.operations = plan.step_operations / std::max(timing.step, 1e-9);
    Plan better = plan_for(request.task, {facts, request.budget, machine});
    if (better.settings == plan.settings) break;
    plan = std::move(better);
    timing = timed(request, with_given(plan.settings, base), backend);
  }
  settle_steps(plan, request.budget, timing);
  plan.table.insert(plan.table.end(), table.begin(), table.end());
  for (const auto& item : request.settings.items())
    std::erase_if(plan.table, [&](const Chosen& row) { return row.flag == flag_name(item.key()); });
  messages << fmt::format("Settings for {} ({}):\n{}", duration_text(request.budget.seconds), request.budget.why,
                          table_text(plan.table))
           << "Flags in the last column override a choice; --auto keeps the others. recipe.json has all of them.\n";
  return with_given(plan.settings, base);
}

}  // namespace attend::train
