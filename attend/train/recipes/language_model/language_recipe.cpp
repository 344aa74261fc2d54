#include "attend/train/recipes/language_model/language_recipe.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/models/gpt2.h"
#include "attend/models/rnn_cell.h"
#include "attend/models/text_rnn.h"

namespace attend::train {

LanguageRecipe resolve_language_recipe(const Json& settings, std::string_view what) {
  LanguageRecipe recipe;
  if (settings.is_object() && settings.value("model", std::string()) == "rnn") recipe.layers = 1, recipe.width = 256;
  read_recipe(recipe, settings, what);
  if (!recipe.from.empty()) {
    constexpr float kTuningRate = 1e-4f;
    if (!settings.contains("dropout")) recipe.dropout = kAsFolderSays;
    if (!settings.contains("learning_rate")) recipe.learning_rate = kTuningRate;
  }
  settle_settings(recipe, LanguageRecipe(), settings, what);
  check_settings(recipe, what);
  recipe.held_out.check(what);
  check_one_of(what, "task", recipe.task, {"language-model"});
  check_one_of(what, "model", recipe.model, {"gpt2", "rnn"});
  models::rnn_cell(recipe.cell, what);
  for (const auto& [key, value] : {std::pair<const char*, std::int64_t>{"width", recipe.width},
                                   {"layers", recipe.layers},
                                   {"heads", recipe.heads},
                                   {"block", recipe.block},
                                   {"batch", recipe.batch}})
    check(value >= 1, "{}: '{}' must be at least 1, not {}", what, key, value);
  check(recipe.vocabulary_size == 0 || recipe.vocabulary_size >= 258,
        "{}: 'vocabulary_size' must be 0 (bytes) or at least 258, not {}", what, recipe.vocabulary_size);
  check(recipe.lines || recipe.prompt_end.empty(), "{}: 'prompt_end' is of lines, and needs 'lines'", what);
  if (recipe.from.empty()) recipe.window.check(what, recipe.layers, models::AttentionDirection::causal);
  models::positions_named(recipe.positions, what);
  const bool left = !recipe.from.empty() && recipe.dropout == kAsFolderSays;
  check(left || (recipe.dropout >= 0 && recipe.dropout < 1), "{}: 'dropout' must be in [0, 1), not {}", what,
        recipe.dropout);
  return recipe;
}

std::unique_ptr<models::LanguageModel> started_model(const LanguageRecipe& recipe, const Json& start,
                                                     std::string_view what) {
  const float dropout = recipe.dropout;
  if (start["model_type"] == "gpt2") {
    models::GPT2Config config = models::gpt2_config(start, what);
    config.labels.clear();
    if (dropout != kAsFolderSays) config.embedding_dropout = config.attention_dropout = config.dropout = dropout;
    if (!recipe.window.attention_window.empty()) config.window = recipe.window;
    return std::make_unique<models::GPT2LanguageModel>(config);
  }
  models::TextRnnConfig config = models::text_rnn_config(start, what);
  check(recipe.window.attention_window.empty(), "{}: a recurrent network has no 'attention_window'", what);
  config.labels.clear();
  if (dropout != kAsFolderSays) config.dropout = dropout;
  return std::make_unique<models::RnnLanguageModel>(config);
}

std::unique_ptr<models::LanguageModel> new_model(const LanguageRecipe& recipe, std::int64_t vocabulary,
                                                 std::int64_t end) {
  if (recipe.recurrent()) {
    models::TextRnnConfig config{.vocabulary = vocabulary,
                                 .width = recipe.width,
                                 .layers = recipe.layers,
                                 .cell = recipe.cell,
                                 .dropout = recipe.dropout,
                                 .start = end,
                                 .end = end};
    config.max_length = std::max(config.max_length, recipe.block);
    return std::make_unique<models::RnnLanguageModel>(config);
  }
  return std::make_unique<models::GPT2LanguageModel>(models::GPT2Config{.vocabulary = vocabulary,
                                                                        .max_length = recipe.block,
                                                                        .width = recipe.width,
                                                                        .layers = recipe.layers,
                                                                        .heads = recipe.heads,
                                                                        .embedding_dropout = recipe.dropout,
                                                                        .attention_dropout = recipe.dropout,
                                                                        .dropout = recipe.dropout,
                                                                        .start = end,
                                                                        .end = end,
                                                                        .window = recipe.window,
                                                                        .positions = recipe.positions});
}

}  // namespace attend::train
