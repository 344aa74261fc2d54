// Speculative decoding (Leviathan et al. 2023): a drafter guesses some tokens, the model reads them in one step, and
// what it would have written itself is kept. A step that is limited by reading the weights costs about the same for
// several tokens.
//
// The text is exactly that of sample(): the draw for a token is a pure function of the seed and the position, so a
// guess is right if it is the token that this draw gives. The probability of that is the model's probability of the
// token, which is what rejection sampling accepts of a guess without a distribution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "attend/decode/drafter.h"
#include "attend/decode/hypothesis.h"
#include "attend/decode/sample.h"
#include "attend/nn/text_model.h"

namespace attend::decode {

struct SpeculateOptions {
  std::size_t most = 15;               // tokens of a guess
  std::function<double()> clock = {};  // seconds; the system's if empty. Only the speed depends on it
};

struct Speculated {
  Hypothesis hypothesis;
  std::int64_t steps = 0;               // of the model, with the one that reads the prompt
  std::int64_t guessed = 0, right = 0;  // tokens
};

// One sample of one sentence after options.prompt, as sample() gives it.
Speculated speculate(nn::TextModel& model, Drafter& drafter, const SampleOptions& options,
                     const SpeculateOptions& how = {});

}  // namespace attend::decode
