#include "attend/cli/support/train_tasks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/cli/support/field_flags.h"
#include "attend/cli/support/shell_word.h"
#include "attend/models/presets.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/train/recipes/captions/caption_recipe.h"
#include "attend/train/recipes/detection/detect_recipe.h"
#include "attend/train/recipes/drawing/draw_recipe.h"
#include "attend/train/recipes/heads/head_recipe.h"
#include "attend/train/recipes/images/image_recipe.h"
#include "attend/train/recipes/language_model/language_recipe.h"
#include "attend/train/recipes/masked_lm/masked_recipe.h"
#include "attend/train/recipes/translation/translation_recipe.h"

namespace attend::cli {

namespace {

using Names = std::vector<std::string>;

// What every task has, under one name.
struct EveryTask : train::RunSettings {
  template <class Visitor>
  void visit(Visitor&& v) {
    visit_run(v);
  }
};

template <class Settings>
Names names_of(Settings settings) {
  Names names;
  settings.visit([&](std::string_view name, auto&, std::string_view) { names.emplace_back(name); });
  return names;
}

bool in(const Names& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// The word behind a flag on the command line, or behind its '='; empty when it is not there.
std::string value_in(std::span<const std::string> words, const std::string& flag) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == flag && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(flag + "=")) return words[i].substr(flag.size() + 1);
  }
  return "";
}

// What is wrong with a file the command says when it opens it, not who only looks for the task that is meant.
Json read_recipe(const std::string& path) {
  try {
    if (Json recipe = read_json(path); recipe.is_object()) return recipe;
  } catch (const Error&) {
  }
  return Json::object();
}

template <class Call>
auto with_recipe(std::string_view task, Call call) {
  if (task == "translation") return call(train::TranslationRecipe{});
  if (task == "language-model") return call(train::LanguageRecipe{});
  if (task == "masked-lm") return call(train::MaskedRecipe{});
  if (task == "classify-images") return call(train::ImageRecipe{});
  if (task == "describe") return call(train::CaptionRecipe{});
  if (task == "detect") return call(train::DetectRecipe{});
  if (task == "draw") return call(train::DrawRecipe{});
  train::HeadRecipe head;
  head.task = task;
  return call(std::move(head));
}

// A field that others of its kind have, and that this recipe refuses.
template <class Settings>
bool is_fixed(std::string_view name) {
  if constexpr (requires { Settings::kFixed; })
    return std::ranges::find(Settings::kFixed, name) != Settings::kFixed.end();
  return false;
}

// The heading in --help for a field of a recipe. A field that is not listed here is one of Training.
std::string group_of(std::string_view field) {
  static const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> kGroups = {
      {"Model",
       {"from",          "teacher",        "model",      "cell",           "preset",         "config",
        "decoder",       "decoder_config", "encoder",    "backbone",       "tokenizer",      "vocabulary_size",
        "width",         "layers",         "heads",      "hidden",         "encoder_layers", "decoder_layers",
        "queries",       "norms",          "patch_size", "self_attention", "dropout",        "attention_window",
        "global_tokens", "block",          "max_length", "drop_path",      "image_size",     "attention_stage"}},
      {"Data", {"source",      "target",      "valid_source", "valid_target", "test_source", "test_target",
                "text",        "valid_text",  "train",        "train_names",  "valid",       "valid_names",
                "valid_share", "test",        "test_names",   "images",       "format",      "header",
                "text_column", "pair_column", "label_column", "label_names",  "regression",  "lines",
                "prompt_end",  "least_count", "mean",         "std",          "broken",      "feature_model"}},
      {"Augmentation",
       {"crop_chance",
        "least_crop",
        "least_scale",
        "jitter",
        "copy_paste",
        "copy_paste_chance",
        "crop",
        "crop_padding",
        "border",
        "least_area",
        "flip",
        "alternate_flip",
        "rand_augment_operations",
        "rand_augment_magnitude",
        "rand_augment_varied",
        "mixup",
        "cutmix",
        "mix_until",
        "erasing",
        "cutout"}},
      {"Output", {"out", "log_every", "save_every"}},
      {"Performance", {"device", "dtype", "recompute", "threads", "cache_bytes", "workers"}}};
  for (const auto& [group, fields] : kGroups)
    if (std::ranges::find(fields, field) != fields.end()) return std::string(group);
  return "Training";
}

// What --help calls the value of a field, where its flag takes something else in other commands.
std::string value_of(std::string_view field) {
  if (field == "model") return "NAME";
  if (field == "text") return "FILE";
  return field == "out" || field == "images" || field == "teacher" ? "FOLDER" : "";
}

enum class Shown { no, yes };

// The fields of a recipe, each under the heading it belongs to.
template <class Settings>
void add_recipe_flags(Flags& flags, Settings defaults, Json& given, Shown shown, bool show_defaults = true) {
  defaults.visit([&]<class T>(std::string_view name, T& value, std::string_view help) {
    if (name == "task") return;
    const bool hidden = shown == Shown::no || is_fixed<Settings>(name);
    if constexpr (!fields::ListOfSettings<T>)
      add_field_flag(flags, name, value, help, given,
                     {.group = hidden ? "" : group_of(name), .show_defaults = show_defaults, .value = value_of(name)});
  });
}

void add_flags_of(const TrainedTask& task, Flags& flags, Json& given, std::span<const std::string> words) {
  const Shown shown = words.empty() ? Shown::no : Shown::yes;
  const auto add = [&](auto recipe) { add_recipe_flags(flags, std::move(recipe), given, shown); };
  with_recipe(task.name, add);
  if (task.name != "translation") return;
  const std::string model = value_in(words, "--model"), preset = value_in(words, "--preset");
  const std::string size = in(models::preset_names(), preset) ? preset : train::TranslationRecipe{}.preset;
  const std::string heading = shown == Shown::yes ? "Model" : "";
  if (model.starts_with("rnn")) return add_field_flags(flags, models::RnnConfig{}, given, {.group = heading});
  add_field_flags(flags, models::transformer_preset(size), given, {.group = heading});
  add_field_flags(flags, models::RnnConfig{}, given, {.group = ""});
}

Names fields_of(std::string_view task) {
  Names names = with_recipe(task, [](auto recipe) { return names_of(std::move(recipe)); });
  if (task == "translation")
    for (const Names& more : {names_of(models::TransformerConfig{}), names_of(models::RnnConfig{})})
      names.insert(names.end(), more.begin(), more.end());
  return names;
}

// Of the two kinds of translators each has flags that the other has not.
void check_fits_model(const std::string& field, const std::string& model) {
  const bool recurrent = model.starts_with("rnn");
  const Names transformer = names_of(models::TransformerConfig{}), rnn = names_of(models::RnnConfig{});
  check(in(recurrent ? rnn : transformer, field) || !in(recurrent ? transformer : rnn, field) ||
            in(names_of(train::TranslationRecipe{}), field),
        "train: {} is not a flag of --model {}; it belongs to --model {}", flag_of(field), model,
        recurrent ? "transformer" : "rnn-attention and rnn-plain");
}

std::string flags_text(const std::vector<std::string_view>& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i)
    text += (i == 0 ? "" : i + 1 == fields.size() ? " and " : ", ") + flag_of(fields[i]);
  return text;
}

}  // namespace

const TrainedTask& trained_task(const Json& settings, std::string_view what) {
  const auto found = settings.find("task");
  if (found == settings.end()) return trained_tasks()[0];
  Names names;
  for (const TrainedTask& task : trained_tasks()) {
    if (*found == task.name) return task;
    names.emplace_back(task.name);
  }
  const std::string nearest = found->is_string() ? nearest_name(found->get<std::string>(), names) : "";
  fail("{}: unknown task {}; there are {}{}", what, found->dump(), joined(names, ", "),
       nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
}

std::string task_in(std::span<const std::string> words) {
  const bool trains =
      !words.empty() && (words[0] == "train" || (words[0] == "help" && in({words.begin(), words.end()}, "train")));
  if (!trains) return "";
  if (std::string task = value_in(words, "--task"); !task.empty()) return task;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::error_code error;
    if (!words[i].ends_with(".json") || words[i - 1].starts_with("--") || !std::filesystem::exists(words[i], error))
      continue;
    const Json recipe = read_recipe(words[i]);
    const auto task = recipe.find("task");
    if (task == recipe.end()) return std::string(trained_tasks()[0].name);
    return task->is_string() ? task->get<std::string>() : "";
  }
  return "";
}

std::string use_command(const TrainedTask& task, const train::Training& training, const std::string& image) {
  std::string command = "attend " + std::string(task.use), read = image;
  if (image.empty() && command.find("{image}") != std::string::npos) {
    command = "attend evaluate --model {model} {image}";
    for (const train::DataFile& file : training.files)
      if (file.key == "valid" || (file.key == "train" && read.empty())) read = file.path;
  }
  return with_word(with_word(command, "{image}", read), "{model}", training.settings.out);
}

std::string flag_of(std::string_view field) {
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin() + 2, flag.end(), '_', '-');
  return flag;
}

std::vector<std::string_view> tasks_with(std::string_view field) {
  std::vector<std::string_view> names;
  for (const TrainedTask& task : trained_tasks())
    if (in(fields_of(task.name), field) &&
        !with_recipe(task.name, [&](auto recipe) { return is_fixed<decltype(recipe)>(field); }))
      names.push_back(task.name);
  return names;
}

std::vector<HelpEntry> task_topics() {
  std::vector<HelpEntry> topics;
  for (const TrainedTask& task : trained_tasks())
    topics.push_back({.names = {std::string(task.name)},
                      .group = "Tasks",
                      .text = fmt::format("{} Needs {}.", task.learns, flags_text(task.needs))});
  return topics;
}

void add_task_flags(Flags& flags, Json& given, std::span<const std::string> words) {
  std::vector<std::string_view> names;
  for (const TrainedTask& task : trained_tasks()) names.push_back(task.name);
  const auto task = std::make_shared<std::string>();
  const std::string named = task_in(words);
  // The choices are checked by trained_task(), which also reads recipes.
  flags.add("--task", *task, fmt::format("Task to train: {}.", joined(names, ", ")))
      .shown_as(named.empty() ? std::string(names[0]) : "")
      .group("Model")
      .then([&given, task] { given["task"] = *task; });
  const auto shown = std::ranges::find(trained_tasks(), named, &TrainedTask::name);
  if (!named.empty() && shown == trained_tasks().end()) trained_task({{"task", named}}, "train");  // throws
  if (shown != trained_tasks().end())
    add_flags_of(*shown, flags, given, words);
  else
    add_recipe_flags(flags, EveryTask{}, given, Shown::yes, /*show_defaults=*/false);
  for (const TrainedTask& other : trained_tasks()) add_flags_of(other, flags, given, {});
}

void check_flags_fit(const TrainedTask& task, const Json& given, const Json& settings) {
  const Names fields = fields_of(task.name);
  const auto model = settings.find("model");
  const bool named = model != settings.end() && model->is_string();
  for (const auto& item : given.items()) {
    if (task.name == "translation")
      check_fits_model(item.key(), named ? model->get<std::string>() : train::TranslationRecipe{}.model);
    if (item.key() == "task" || in(fields, item.key())) continue;
    const auto others = tasks_with(item.key());
    fail("train: {} is not a flag of --task {}{}; it belongs to --task {}", flag_of(item.key()), task.name,
         given.contains("task") ? "" : " (which is meant where none is named)", joined(others, ", "));
  }
}

void check_needs(const TrainedTask& task, const Json& settings, std::string_view what) {
  const auto given = [&](std::string_view key) {
    const auto found = settings.find(std::string(key));
    return found != settings.end() && !(found->is_string() && found->get<std::string>().empty());
  };
  std::vector<std::string_view> missing;
  for (std::string_view key : task.needs) {
    // A share of the training data stands for validation files, and a table for both sides.
    const bool stands =
        (key.starts_with("valid") && given("valid_share")) || ((key == "source" || key == "target") && given("pairs"));
    if (!given(key) && !stands) missing.push_back(key);
  }
  if (missing.empty()) return;
  std::vector<std::string_view> others;
  for (const TrainedTask& other : trained_tasks())
    if (other.name != task.name) others.push_back(other.name);
  const bool alone = settings.empty();
  fail("{}: --task {} needs {}; see attend train --task {} --help{}", what, task.name, flags_text(missing), task.name,
       alone ? fmt::format(". Or name another task ({}), or a recipe: attend make-data dates --out .data/dates, then "
                           "attend train recipes/minutes/dates-rnn-attention.json",
                           joined(others, ", "))
             : "");
}

}  // namespace attend::cli
