#include "attend/verify/recipe.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::verify {

std::vector<double> numbers_of(std::string_view text, std::string_view pattern, std::string_view what) {
  std::vector<double> numbers;
  std::size_t at = 0;
  bool same = true;
  for (char expected : pattern) {
    if (expected == '#') {
      double number = 0;
      const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
      same = error == std::errc();
      at = static_cast<std::size_t>(end - text.data());
      numbers.push_back(number);
    } else {
      same = at < text.size() && text[at++] == expected;
    }
    if (!same) break;
  }
  check(same && at == text.size(), "{}: {} is not as '{}', with a number for each #", what, shown(text), pattern);
  return numbers;
}

float TrainingRecipe::rate_at(std::int64_t step) const {
  return rate * std::min(1.0f, static_cast<float>(step) / rise);
}

TrainingRecipe training_recipe(std::string_view text, std::string_view what) {
  const std::vector<double> numbers =
      numbers_of(text,
                 "AdamW lr # betas # # eps # weight_decay # on every parameter, clip global grad norm #, "
                 "lr = #*min(1,step/#), step from 1",
                 what);
  const auto number = [&](std::size_t i) { return static_cast<float>(numbers[i]); };
  check(number(7) > 0, "{}: a rate cannot rise for {} steps", what, number(7));
  return {.optimizer = {.beta1 = number(1),
                        .beta2 = number(2),
                        .eps = number(3),
                        .weight_decay = number(4),
                        .decayed = train::OptimizerOptions::everything,
                        .clip_norm = number(5)},
          .rate = number(6),
          .rise = number(7)};
}

}  // namespace attend::verify
