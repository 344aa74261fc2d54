// How a case was trained, as its case.json says it in words.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attend/train/loop/optimizer.h"

namespace attend::verify {

// The numbers of a text that is as the pattern has it, where a # stands for one: numbers_of("lr 1e-3", "lr #") is
// {0.001}. Throws Error with what (a path) and the pattern for another text.
std::vector<double> numbers_of(std::string_view text, std::string_view pattern, std::string_view what);

// AdamW with a rate that rises to its full height and stays there.
struct TrainingRecipe {
  train::OptimizerOptions optimizer;
  float rate = 0;
  float rise = 1;  // steps

  float rate_at(std::int64_t step) const;  // from 1 on
};
// Of 'optimizer' in a case.json. Throws Error for other recipes.
TrainingRecipe training_recipe(std::string_view text, std::string_view what);

}  // namespace attend::verify
