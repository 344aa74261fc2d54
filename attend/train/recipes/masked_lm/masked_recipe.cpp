#include "attend/train/recipes/masked_lm/masked_recipe.h"

#include "attend/base/error.h"

namespace attend::train {

MaskedRecipe resolve_masked_recipe(const Json& settings, std::string_view what) {
  MaskedRecipe recipe;
  read_recipe(recipe, settings, what);
  settle_settings(recipe, MaskedRecipe(), settings, what);
  check_settings(recipe, what);
  recipe.held_out.check(what);
  check_one_of(what, "task", recipe.task, {"masked-lm"});
  check_one_of(what, "model", recipe.model, {"bert", "roberta"});
  for (const auto& [key, value] : {std::pair<const char*, std::int64_t>{"width", recipe.width},
                                   {"layers", recipe.layers},
                                   {"heads", recipe.heads},
                                   {"max_length", recipe.max_length},
                                   {"batch", recipe.batch},
                                   {"vocabulary_size", recipe.vocabulary_size}})
    check(value >= 1, "{}: '{}' must be at least 1, not {}", what, key, value);
  check(recipe.hidden >= 0, "{}: 'hidden' must be 0 (four times the width) or more, not {}", what, recipe.hidden);
  check(recipe.block >= 3 && (recipe.block <= recipe.max_length || !recipe.from.empty()),
        "{}: 'block' must be from 3 to 'max_length', which is {}, not {}", what, recipe.max_length, recipe.block);
  check(recipe.dropout >= 0 && recipe.dropout < 1, "{}: 'dropout' must be in [0, 1), not {}", what, recipe.dropout);
  if (recipe.from.empty()) recipe.window.check(what, recipe.layers, models::AttentionDirection::bidirectional);
  check(recipe.masked > 0 && recipe.masked < 1, "{}: 'masked' must be in (0, 1), not {}", what, recipe.masked);
  return recipe;
}

}  // namespace attend::train
