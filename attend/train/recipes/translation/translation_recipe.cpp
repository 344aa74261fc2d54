#include "attend/train/recipes/translation/translation_recipe.h"

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/catalogue/catalogue.h"
#include "attend/models/presets.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/tasks/translator.h"
#include "attend/train/recipes/recipe_json.h"

namespace attend::train {

namespace {

// A recipe and the settings of its model as one list of fields.
template <class Config>
struct Both {
  TranslationRecipe& recipe;
  Config& config;

  template <class Visitor>
  void visit(Visitor&& v) {
    recipe.visit(v);
    config.visit([&](std::string_view name, auto& member, std::string_view help) {
      if (name != "vocabulary") v(name, member, help);  // the tokenizer decides it
    });
  }
};

template <class Config>
Json read_model(const Json& settings, std::string_view what, TranslationRecipe& recipe, Config config) {
  Both<Config> both{recipe, config};
  read_fields(both, settings, what);
  Json json = write_fields(config);
  json.erase("vocabulary");
  // A setting newer than many runs, which are resumed all the same.
  if (json.value("start_token", std::string()) == tasks::kStartToken) json.erase("start_token");
  config.leave_out_of(json);
  return json;
}

std::string string_in(const Json& settings, const char* key, const std::string& otherwise, std::string_view what) {
  const auto found = settings.find(key);
  if (found == settings.end()) return otherwise;
  check(found->is_string(), "{}: '{}' must be a string, not {}", what, key, found->dump());
  return found->get<std::string>();
}

// Of a run that goes on from a folder: what the model is, that says.
struct Started {
  TranslationRecipe& recipe;
  float dropout = -1;

  template <class Visitor>
  void visit(Visitor&& v) {
    recipe.visit(v);
    v("dropout", dropout, "-1: as the folder says");
  }
};

std::vector<UnusedSettings> unused_of_started() {
  return {decided_by_folder({"model", "preset", "vocabulary_size", "width", "heads", "hidden", "encoder_layers",
                             "decoder_layers", "layers", "pre_norm", "max_length", "positions", "position_combination",
                             "position_width", "cell", "activation", "attention_score", "attention_scale",
                             "attention_bias", "single_digits"})};
}

Json read_started(const Json& settings, std::string_view what, TranslationRecipe& recipe) {
  check_unused(unused_of_started(), settings, Json::object(), what);
  constexpr float kTuningRate = 2e-4f;
  Started started{recipe};
  read_fields(started, settings, what);
  if (!settings.contains("learning_rate")) recipe.learning_rate = kTuningRate;
  check(started.dropout < 1, "{}: 'dropout' must be below 1, not {}", what, started.dropout);
  return started.dropout < 0 ? Json::object() : Json({{"dropout", started.dropout}});
}

void check_values(const TranslationRecipe& recipe, std::string_view what) {
  check_settings(recipe, what);
  check_one_of(what, "task", recipe.task, {"translation"});
  check_one_of(what, "select", recipe.select, {"bleu", "loss"});
  check(recipe.tokens >= 1 && recipe.vocabulary_size >= 1, "{}: 'tokens' and 'vocabulary_size' must be at least 1",
        what);
  check(recipe.label_smoothing >= 0 && recipe.label_smoothing < 1 && recipe.r_drop >= 0,
        "{}: 'label_smoothing' must be in [0, 1) and 'r_drop' not negative, not {} and {}", what,
        recipe.label_smoothing, recipe.r_drop);
  recipe.held_out.check(what);
}

}  // namespace

ResolvedRecipe resolve_recipe(const Json& settings, std::string_view what) {
  check(settings.is_object(), "{}: expected a JSON object", what);
  ResolvedRecipe resolved;
  TranslationRecipe& recipe = resolved.recipe;
  const std::string model = string_in(settings, "model", recipe.model, what);
  if (!string_in(settings, "from", "", what).empty()) {
    resolved.model = read_started(settings, what, recipe);
  } else if (model == "transformer") {
    const auto preset = models::transformer_preset(string_in(settings, "preset", recipe.preset, what));
    resolved.model = read_model(settings, what, recipe, preset);
  } else if (model == "rnn-attention" || model == "rnn-plain") {
    models::RnnConfig config;
    config.attention = model == "rnn-attention";
    resolved.model = read_model(settings, what, recipe, config);
    resolved.model["attention"] = model == "rnn-attention";
  } else {
    fail("{}: unknown model '{}'; there are transformer, rnn-attention and rnn-plain", what, model);
  }
  settle_settings(recipe, TranslationRecipe(), settings, what);
  check_values(recipe, what);
  return resolved;
}

Json to_json(const ResolvedRecipe& resolved) {
  Json json = write_fields(resolved.recipe);
  resolved.recipe.held_out.leave_out_of(json);
  if (!resolved.recipe.single_digits) json.erase("single_digits");  // newer than many runs, too
  if (!resolved.recipe.from.empty()) leave_out(unused_of_started(), json);
  json.update(resolved.model);
  return json;
}

std::unique_ptr<models::Seq2Seq> make_model(const ResolvedRecipe& resolved, std::int64_t vocabulary) {
  Json config = resolved.model;
  config["model_type"] = resolved.recipe.model == "transformer" ? "transformer" : "rnn";
  config["vocabulary"] = vocabulary;
  return catalogue::make_seq2seq(config, "recipe");
}

std::unique_ptr<models::Seq2Seq> started_model(const ResolvedRecipe& resolved, const catalogue::ModelConfig& start) {
  Json config = start.entry->translator.make(start.json, start.path)->config();
  config.update(resolved.model);
  return catalogue::make_seq2seq(config, start.path);
}

}  // namespace attend::train
