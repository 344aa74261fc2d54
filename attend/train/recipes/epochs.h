// What recipes that count in epochs have in common: what the number of examples decides, and what is checked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

struct EpochOptions {
  std::int64_t warmup_part = 20;  // a warm-up of -1 is this part of the steps
};

// Zeros stand for what the data decides: steps by epochs, validation and saving once an epoch.
template <class Recipe>
Recipe with_epochs(Recipe recipe, std::int64_t examples, const EpochOptions& options = {}) {
  const auto epoch = std::max<std::int64_t>(1, (examples + recipe.batch - 1) / recipe.batch);
  if (recipe.steps == 0) {
    const double all = static_cast<double>(recipe.epochs) * static_cast<double>(examples);
    recipe.steps = std::max<std::int64_t>(1, std::llround(all / static_cast<double>(recipe.batch)));
  }
  if (recipe.warmup < 0) recipe.warmup = recipe.steps / options.warmup_part;
  if (recipe.validate_every == 0) recipe.validate_every = std::min(epoch, recipe.steps);
  if (recipe.save_every == 0) recipe.save_every = recipe.validate_every;
  return recipe;
}

// Throws Error, which begins with what, for a batch or a length that makes no sense.
template <class Recipe>
void check_epochs(const Recipe& recipe, std::string_view what) {
  check(recipe.batch >= 1, "{}: 'batch' must be at least 1, not {}", what, recipe.batch);
  check(recipe.steps >= 0 && recipe.warmup >= -1, "{}: 'steps' cannot be {}, nor 'warmup' {}", what, recipe.steps,
        recipe.warmup);
  check(recipe.steps > 0 || (recipe.epochs > 0 && recipe.epochs <= 1e6f),
        "{}: 'epochs' must be above 0 and at most a million, not {}", what, recipe.epochs);
}

// The same for what recipes that read images have in common.
template <class Recipe>
void check_images(const Recipe& recipe, std::string_view what) {
  check(recipe.valid_share > 0 && recipe.valid_share < 1, "{}: 'valid_share' must be between 0 and 1, not {}", what,
        recipe.valid_share);
  try {
    recipe.images.check_ranges();
  } catch (const Error& error) {
    fail("{}: {}", what, error.what());
  }
}

// Settings as given were read over the defaults (settle_settings), and those of a run make sense for any data.
template <class Recipe>
void settle_epochs(Recipe& recipe, const Json& given, std::string_view what, const EpochOptions& options = {}) {
  settle_settings(recipe, Recipe(), given, what);
  check_settings(with_epochs(recipe, 1, options), what);
}

}  // namespace attend::train
