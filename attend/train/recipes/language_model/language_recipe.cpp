#include "attend/train/recipes/language_model/language_recipe.h"

#include "attend/base/error.h"

namespace attend::train {

LanguageRecipe resolve_language_recipe(const Json& settings, std::string_view what) {
  LanguageRecipe recipe;
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

models::GPT2Config started_config(const LanguageRecipe& recipe, models::GPT2Config config) {
  config.labels.clear();
  if (recipe.dropout != kAsFolderSays)
    config.embedding_dropout = config.attention_dropout = config.dropout = recipe.dropout;
  if (!recipe.window.attention_window.empty()) config.window = recipe.window;
  return config;
}

models::GPT2Config model_config(const LanguageRecipe& recipe, std::int64_t vocabulary, std::int64_t end) {
  return {.vocabulary = vocabulary,
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
          .positions = recipe.positions};
}

}  // namespace attend::train
