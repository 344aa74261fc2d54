// Does a captured step, or a kernel that computes a whole one, choose the tokens that the layers one after another
// choose? Both continue the same texts: what the layers choose goes into both, so that one difference does not bring
// the next. A difference between logits that lie closer than `gap` is a tie. bench/same_tokens.cpp runs it on a folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/nn/causal_decoder.h"
#include "attend/tensor/backend.h"

namespace attend::test {

struct SameTokensOptions {
  std::int64_t steps = 10000;                       // tokens of all rows that are compared
  std::int64_t rows = 1, prompt = 16, tokens = 96;  // texts at once, and what each begins with and continues with
  float gap = 0.05f;                                // of logits
  std::uint64_t seed = 1;
};

struct SameTokens {
  std::int64_t steps = 0, ties = 0, wrong = 0;
  float widest = 0;  // the largest gap between two choices, in the layers' logits

  bool within(double share) const {
    return wrong == 0 && static_cast<double>(ties) <= share * static_cast<double>(steps);
  }
};

namespace same_tokens {

// A pass with a probe runs layer by layer, and is never captured.
class Watching : public Probe {
 public:
  void attention(std::string_view, const Tensor&) override {}
};

inline Tensor random_prompts(Backend& backend, const SameTokensOptions& options, std::int64_t vocabulary,
                             std::uint32_t text) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < options.rows * options.prompt; ++i)
    ids.push_back(static_cast<std::int32_t>(random_word(options.seed, text, static_cast<std::uint64_t>(i)) %
                                            static_cast<std::uint32_t>(vocabulary)));
  const Tensor prompts = make_tensor(backend, {options.rows, options.prompt}, DType::i32);
  upload(prompts, ids);
  return prompts;
}

// The likeliest token of each row; of equal ones the first.
inline std::vector<std::int32_t> likeliest(const nn::StepModel::Scores& all, std::int64_t rows) {
  std::vector<std::int32_t> ids;
  const std::size_t vocabulary = all.logits.size() / static_cast<std::size_t>(rows);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const auto logits = all.logits.subspan(row * vocabulary, vocabulary);
    ids.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
  }
  return ids;
}

}  // namespace same_tokens

inline SameTokens same_tokens_of(const nn::CausalModel& model, Backend& backend, const SameTokensOptions& options) {
  const nn::CausalModel::Sizes sizes = model.sizes();
  check(options.steps >= 1 && options.rows >= 1 && options.prompt >= 1 && options.tokens >= 1,
        "same tokens: steps, rows, prompt and tokens must be 1 or more, not {}, {}, {} and {}", options.steps,
        options.rows, options.prompt, options.tokens);
  check(options.prompt + options.tokens <= sizes.max_length,
        "same tokens: a prompt of {} and {} tokens, and the model reads {}: use fewer", options.prompt, options.tokens,
        sizes.max_length);
  SameTokens result;
  const auto rows = static_cast<std::size_t>(options.rows), vocabulary = static_cast<std::size_t>(sizes.vocabulary);
  same_tokens::Watching watching;
  for (std::uint32_t text = 0; result.steps < options.steps; ++text) {
    const Tensor prompts = same_tokens::random_prompts(backend, options, sizes.vocabulary, text);
    Pass by_layers(backend, {.probe = &watching}), as_used(backend);
    nn::CausalDecoder expected(model, by_layers, prompts, 1, options.tokens);
    nn::CausalDecoder actual(model, as_used, prompts, 1, options.tokens);
    std::vector<std::int32_t> newest(rows);
    actual.step(newest, 1);
    newest = same_tokens::likeliest(expected.step(newest, 0), options.rows);
    for (std::int64_t i = 0; i < options.tokens && result.steps < options.steps; ++i) {
      const nn::StepModel::Scores all = expected.step(newest, 0), best = actual.step(newest, 1);
      newest = same_tokens::likeliest(all, options.rows);
      for (std::size_t row = 0; row < rows; ++row) {
        ++result.steps;
        if (newest[row] == best.ids[row]) continue;
        const auto logits = all.logits.subspan(row * vocabulary, vocabulary);
        const float gap =
            logits[static_cast<std::size_t>(newest[row])] - logits[static_cast<std::size_t>(best.ids[row])];
        result.widest = std::max(result.widest, gap);
        ++(gap < options.gap ? result.ties : result.wrong);
      }
    }
  }
  return result;
}

}  // namespace attend::test
