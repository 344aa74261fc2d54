#include "attend/train/recipes/heads/head_recipe.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"

namespace attend::train {

HeadRecipe resolve_head_recipe(const Json& settings, std::string_view what) {
  HeadRecipe recipe;
  read_recipe(recipe, settings, what);
  check_one_of(what, "task", recipe.task, {"classify", "tag", "answer"});
  check_one_of(what, "select", recipe.select, {"score", "loss"});
  check_one_of(what, "format", recipe.format, {"auto", "csv", "tsv", "jsonl", "conll", "squad"});
  check(recipe.batch >= 1, "{}: 'batch' must be at least 1, not {}", what, recipe.batch);
  check(recipe.max_length == 0 || recipe.max_length >= 8, "{}: 'max_length' must be 0 or at least 8, not {}", what,
        recipe.max_length);
  check(recipe.steps >= 0 && recipe.warmup >= -1, "{}: 'steps' cannot be {}, nor 'warmup' {}", what, recipe.steps,
        recipe.warmup);
  check(recipe.steps > 0 || (recipe.epochs > 0 && recipe.epochs <= 1e6f),
        "{}: 'epochs' must be above 0 and at most a million, not {}", what, recipe.epochs);
  check(recipe.dropout < 1, "{}: 'dropout' must be below 1, not {}", what, recipe.dropout);
  check(!recipe.regression || recipe.task == "classify", "{}: 'regression' is for the task classify", what);
  check(recipe.label_names.empty() || (recipe.task == "classify" && !recipe.regression),
        "{}: 'label_names' are for the task classify", what);
  settle_settings(recipe, HeadRecipe(), settings, what);
  check_settings(for_texts(recipe, 1), what);
  return recipe;
}

HeadRecipe for_texts(HeadRecipe recipe, std::int64_t texts) {
  const auto epoch = std::max<std::int64_t>(1, (texts + recipe.batch - 1) / recipe.batch);
  if (recipe.steps == 0) {
    const double all = static_cast<double>(recipe.epochs) * static_cast<double>(texts);
    recipe.steps = std::max<std::int64_t>(1, std::llround(all / static_cast<double>(recipe.batch)));
  }
  if (recipe.warmup < 0) recipe.warmup = recipe.steps / 10;
  if (recipe.validate_every == 0) recipe.validate_every = std::min(epoch, recipe.steps);
  if (recipe.save_every == 0) recipe.save_every = recipe.validate_every;
  return recipe;
}

}  // namespace attend::train
