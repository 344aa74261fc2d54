// What one text may cost the rules of a tokenizer, which is untrusted input: how far it may grow on its way to the
// model, and how many steps the patterns may take. The parts of a text share one budget.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attend/base/limits.h"

namespace attend::text {

struct TextBudget {
  explicit TextBudget(std::size_t bytes)
      : original(bytes), steps(limits::kPatternSteps + limits::kPatternStepsPerByte * std::uint64_t{bytes}) {}

  std::size_t original;  // bytes of the text
  std::size_t made = 0;  // of its parts as they went to the model
  std::uint64_t steps;   // that patterns may still take
};

// A few rules that each make one character many could fill any memory: throws Error when `now` characters or bytes are
// far more than the `before` that there were (limits::kTextGrowth).
void check_growth(std::size_t now, std::size_t before);

}  // namespace attend::text
