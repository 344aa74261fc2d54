#include "attend/cli/support/train_choices.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"
#include "attend/train/loop/run_changes.h"

namespace attend::cli {

namespace {

// They say what is learned from and where the model goes, not how it is trained.
constexpr std::string_view kFiles[] = {"source",       "target",      "pairs",       "valid_source",
                                       "valid_target", "test_source", "test_target", "text",
                                       "valid_text",   "train",       "valid",       "test"};
constexpr std::string_view kNeutral[] = {"task",          "out",         "device",      "threads",     "seed",
                                         "minutes",       "format",      "header",      "text_column", "pair_column",
                                         "label_column",  "label_names", "valid_share", "regression",  "source_column",
                                         "target_column", "images",      "train_names", "valid_names", "test_names"};

bool in(const auto& names, std::string_view name) { return std::ranges::find(names, name) != std::end(names); }

std::string first_characters(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < most && at < text.size(); ++i) at += utf8_length(text[at]);
  return at < text.size() ? std::string(text.substr(0, at)) + ".." : std::string(text);
}

}  // namespace

bool is_recipe(const std::vector<std::string>& paths) {
  if (paths.size() != 1) return false;
  const std::filesystem::path path = paths[0];
  if (!path_exists(path)) return true;  // whoever opens it says so
  if (is_folder(path) || data::is_data_json(path)) return false;
  std::error_code error;
  if (path.extension() == ".json" || !std::filesystem::is_regular_file(path, error)) return true;
  if (path.extension() == ".jsonl" || path.extension() == ".ndjson") return false;
  std::ifstream in(path);  // a recipe is a JSON object
  char first = 0;
  in >> first;
  return first == '{';
}

Json settings_of_data(const std::vector<std::string>& paths, const Json& given) {
  Json settings = train::settings_for(data::recognise({paths.begin(), paths.end()}));
  // Plain text is for both kinds of language model.
  if (given.value("task", std::string()) == "masked-lm" && settings["task"] == "language-model")
    settings["task"] = "masked-lm";
  if (given.contains("task") && given["task"] != settings["task"])
    fail("train: {} is data for --task {}, not for --task {}; the flags of a task name its files", paths[0],
         settings["task"].get<std::string>(), given["task"].get<std::string>());
  for (const auto& item : given.items()) settings[item.key()] = item.value();
  return settings;
}

bool chooses_settings(const AutomaticFlags& flags, const std::string& task, const Json& settings) {
  if (!train::can_choose(task, settings)) return false;
  if (flags.automatic || flags.quick || flags.thorough) return true;
  for (const auto& item : settings.items())
    if (!in(kFiles, item.key()) && !in(kNeutral, item.key())) return false;
  return true;
}

train::Budget budget_of(const AutomaticFlags& flags, const Json& settings) {
  constexpr double kMinute = 60, kCpu = 10, kGpu = 5, kThorough = 60;
  check(!(flags.quick && flags.thorough), "train: --quick is one minute and --thorough an hour; choose one");
  const auto minutes = settings.find("minutes");
  if (minutes != settings.end() && minutes->get<double>() > 0) return {kMinute * minutes->get<double>(), "--minutes"};
  if (flags.quick) return {kMinute, "--quick"};
  if (flags.thorough) return {kThorough * kMinute, "--thorough"};
  const auto device = settings.find("device");
  const bool gpu = device != settings.end() && device->is_string() && device->get<std::string>() != "cpu";
  return {kMinute * (gpu ? kGpu : kCpu), "--minutes, --quick and --thorough choose otherwise"};
}

void check_files(const Json& settings) {
  std::vector<train::DataFile> files;
  for (const auto& item : settings.items()) {
    if (!in(kFiles, item.key())) continue;
    const Json& value = item.value();
    if (value.is_string()) files.push_back({item.key(), value.get<std::string>(), true});
    if (value.is_array())
      for (const Json& one : value) files.push_back({item.key(), one.get<std::string>(), true});
  }
  train::check_data(files, "");
}

std::string examples_text(const train::BestAndWorst& examples) {
  constexpr std::size_t kLongest = 100;
  const auto line = [](const train::ScoredExample& one) {
    const bool right = one.said == one.should || one.score >= 1;
    return fmt::format("  {}  ->  {}{}\n", first_characters(one.input, kLongest), first_characters(one.said, kLongest),
                       right ? "" : fmt::format("  (should be: {})", first_characters(one.should, kLongest)));
  };
  std::string text;
  if (!examples.best.empty()) text += "Best of the validation data:\n";
  for (const train::ScoredExample& one : examples.best) text += line(one);
  if (!examples.worst.empty()) text += "Worst of the validation data:\n";
  for (const train::ScoredExample& one : examples.worst) text += line(one);
  return text;
}

}  // namespace attend::cli
