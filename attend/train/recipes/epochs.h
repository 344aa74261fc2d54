// What the number of examples decides of a recipe that counts in epochs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace attend::train {

// Zeros stand for what the data decides: steps by epochs, validation and saving once an epoch, and a warm-up of -1 for
// a twentieth of the steps.
template <class Recipe>
Recipe with_epochs(Recipe recipe, std::int64_t examples) {
  const auto epoch = std::max<std::int64_t>(1, (examples + recipe.batch - 1) / recipe.batch);
  if (recipe.steps == 0) {
    const double all = static_cast<double>(recipe.epochs) * static_cast<double>(examples);
    recipe.steps = std::max<std::int64_t>(1, std::llround(all / static_cast<double>(recipe.batch)));
  }
  if (recipe.warmup < 0) recipe.warmup = recipe.steps / 20;
  if (recipe.validate_every == 0) recipe.validate_every = std::min(epoch, recipe.steps);
  if (recipe.save_every == 0) recipe.save_every = recipe.validate_every;
  return recipe;
}

}  // namespace attend::train
