#include "attend/train/recipes/heads/new_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/models/bert.h"
#include "attend/models/text_rnn.h"
#include "attend/train/recipes/start_folder.h"

namespace attend::train {

namespace {

// The miniatures of BERT (Turc et al. 2019, "Well-Read Students Learn Better"), and BERT itself.
struct BertPreset {
  std::string_view name;
  std::int64_t layers, width;
};
constexpr std::array<BertPreset, 5> kPresets = {
    {{"tiny", 2, 128}, {"mini", 4, 256}, {"small", 4, 512}, {"medium", 8, 512}, {"base", 12, 768}}};
constexpr std::int64_t kHeadWidth = 64, kLongest = 512;

const BertPreset& preset_of(const HeadRecipe& recipe, std::string_view what) {
  const auto* found = std::ranges::find(kPresets, recipe.preset, &BertPreset::name);
  std::vector<std::string_view> names;
  for (const BertPreset& each : kPresets) names.push_back(each.name);
  check(found != kPresets.end(), "{}: 'preset' is '{}', but must be one of {}", what, recipe.preset,
        joined(names, ", "));
  return *found;
}

models::BertConfig sizes_of(const HeadRecipe& recipe, std::string_view what) {
  const BertPreset& preset = preset_of(recipe, what);
  models::BertConfig config;
  config.width = recipe.width > 0 ? recipe.width : preset.width;
  config.layers = recipe.layers > 0 ? recipe.layers : preset.layers;
  config.heads = recipe.heads > 0 ? recipe.heads : std::max<std::int64_t>(1, config.width / kHeadWidth);
  config.hidden = recipe.hidden > 0 ? recipe.hidden : 4 * config.width;
  config.max_length = recipe.max_length > 0 ? recipe.max_length : kLongest;
  if (recipe.dropout >= 0) config.dropout = config.attention_dropout = recipe.dropout;
  return config;
}

// Every text of the file, a line each.
std::string lines_of(const data::LabelledFile& file) {
  std::string lines;
  for (const data::LabelledText& text : file.texts) {
    for (const std::string& part : {text.text, text.pair, joined(text.words, " ")})
      if (!part.empty()) lines += part + "\n";
  }
  return lines;
}

// Puts the tokenizer into the run's folder and tells a config of it.
template <class Config>
void settle_tokens(const HeadRecipe& recipe, const data::LabelledFile& training, const RunContext& run,
                   Config& config) {
  const std::filesystem::path folder = run.folder.prepared();
  if (recipe.tokenizer.empty())
    learn_tokenizer({.lines = lines_of(training),
                     .vocabulary_size = recipe.vocabulary_size,
                     .max_length = config.max_length,
                     .threads = static_cast<int>(recipe.threads)},
                    folder, run.options);
  else
    copy_tokenizer(recipe.tokenizer, folder);
  const text::Tokenizer tokenizer = text::Tokenizer::load(folder);
  config.vocabulary = (tokenizer.id_limit() + 63) / 64 * 64;  // GPU products like it round
  config.pad = special_tokens(tokenizer, recipe.out).pad;
}

Json bert_body(const HeadRecipe& recipe, const data::LabelledFile& training, const RunContext& run) {
  models::BertConfig config = sizes_of(recipe, "training");
  settle_tokens(recipe, training, run, config);
  return models::bert_json(config);
}

models::TextRnnConfig rnn_sizes(const HeadRecipe& recipe) {
  models::TextRnnConfig config;
  config.width = recipe.width > 0 ? recipe.width : 128;
  if (recipe.layers > 0) config.layers = recipe.layers;
  config.cell = recipe.cell;
  config.max_length = recipe.max_length > 0 ? recipe.max_length : kLongest;
  if (recipe.dropout >= 0) config.dropout = recipe.dropout;
  return config;
}

void check_rnn(const HeadRecipe& recipe, std::string_view what) {
  check(recipe.task == "classify" && !recipe.regression, "{}: an rnn from scratch learns labels (--task classify)",
        what);
  models::TextRnnConfig config = rnn_sizes(recipe);
  config.vocabulary = 1;  // the tokenizer decides it
  models::check_config(config, what);
}

Json rnn_body(const HeadRecipe& recipe, const data::LabelledFile& training, const RunContext& run) {
  models::TextRnnConfig config = rnn_sizes(recipe);
  settle_tokens(recipe, training, run, config);
  config.start = config.pad;
  return models::text_rnn_json(config);
}

// The architectures of 'model'.
struct Architecture {
  std::string_view name;
  void (*check)(const HeadRecipe& recipe, std::string_view what);
  Json (*body)(const HeadRecipe& recipe, const data::LabelledFile& training, const RunContext& run);
};
const std::array kArchitectures = {Architecture{"bert",
                                                [](const HeadRecipe& recipe, std::string_view what) {
                                                  models::check_config(sizes_of(recipe, what), what);
                                                },
                                                bert_body},
                                   Architecture{"rnn", check_rnn, rnn_body}};

const Architecture& architecture_of(const HeadRecipe& recipe, std::string_view what) {
  const auto* found = std::ranges::find(kArchitectures, recipe.model, &Architecture::name);
  std::vector<std::string_view> names;
  for (const Architecture& each : kArchitectures) names.push_back(each.name);
  check(found != kArchitectures.end(), "{}: 'model' is '{}', but must be one of {}", what, recipe.model,
        joined(names, ", "));
  return *found;
}

}  // namespace

void check_new_model(const HeadRecipe& recipe, std::string_view what) {
  for (const auto& [key, value] : {std::pair<const char*, std::int64_t>{"width", recipe.width},
                                   {"layers", recipe.layers},
                                   {"heads", recipe.heads},
                                   {"hidden", recipe.hidden}})
    check(value >= 0, "{}: '{}' must be 0 (as the preset says) or more, not {}", what, key, value);
  check(recipe.vocabulary_size >= 1, "{}: 'vocabulary_size' must be at least 1, not {}", what, recipe.vocabulary_size);
  architecture_of(recipe, what).check(recipe, what);
}

catalogue::ModelConfig new_model(const HeadRecipe& recipe, const data::LabelledFile& training, const RunContext& run) {
  return catalogue::describe(architecture_of(recipe, "training").body(recipe, training, run),
                             (run.folder.prepared() / "config.json").string());
}

}  // namespace attend::train
