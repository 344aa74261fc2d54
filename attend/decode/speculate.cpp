#include "attend/decode/speculate.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "attend/base/error.h"
#include "attend/decode/sampler.h"
#include "attend/decode/speculation_pace.h"

namespace attend::decode {

namespace {

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The text, its guesses and what is known about both.
class Speculation {
 public:
  Speculation(nn::TextModel& model, Drafter& drafter, const SampleOptions& options, const SpeculateOptions& how)
      : model_(model),
        drafter_(drafter),
        options_(options),
        clock_(how.clock ? how.clock : system_seconds),
        sampler_(options, model.vocabulary(), model.suppress(options.suppressed)),
        most_(how.most),
        pace_(drafter.kinds(), how.most),
        text_(options.prompt),
        longest_(options.max_lengths.front()) {}

  Speculated run() {
    write(text_);
    while (!writing_.done) {
      const double start = clock_();
      const std::size_t before = written().size();
      guess();
      const double begin = clock_();
      std::vector<std::int32_t> newest = {text_.back()};
      newest.insert(newest.end(), guess_.tokens.begin(), guess_.tokens.begin() + static_cast<std::ptrdiff_t>(tried_));
      write(newest);
      const double end = clock_();
      pace_.step_took(newest.size(), end - begin);
      const bool first = result_.guessed == static_cast<std::int64_t>(tried_);
      pace_.wrote(tried_, written().size() - before, end - (first ? begin : start));
    }
    result_.hypothesis = std::move(writing_.hypothesis);
    return std::move(result_);
  }

 private:
  const std::vector<std::int32_t>& written() const { return writing_.hypothesis.tokens; }

  // Tokens for the next step to try. It writes one more than are right.
  void guess() {
    const std::size_t room = static_cast<std::size_t>(longest_) - written().size() - 1;
    if (drafter_.is_free()) {
      // At least one token, which is compared even if it is not tried.
      guess_ = drafter_.guess(text_, std::clamp<std::size_t>(room, 1, most_));
      tried_ = guess_.tokens.empty() ? 0 : pace_.tokens(guess_.kind, std::min(room, guess_.tokens.size()));
      return;
    }
    const double begin = clock_();
    guess_ = {}, tried_ = pace_.tokens_of_costly(room);
    if (tried_ > 0) guess_ = drafter_.guess(text_, tried_);
    tried_ = guess_.tokens.size();
    pace_.guess_took(tried_, clock_() - begin);
  }

  // The model reads these tokens, the prompt or the newest token and its guesses. Then tokens are written up to the
  // first that was guessed wrong.
  void write(std::span<const std::int32_t> newest) {
    std::vector<SamplingParams> draws;
    for (std::size_t i = 0; i <= tried_; ++i) draws.push_back(draw_at(options_, written().size() + i));
    const nn::StepModel::Scores scores = model_.read(newest, sampler_.wanted(draws));
    ++result_.steps;
    std::size_t right = 0, compared = 0;
    for (std::size_t row = 0; row <= tried_ && !writing_.done; ++row) {
      const auto [token, logit] = sampler_(scores, row, {options_.prompt, written()}, draws[row]);
      text_.push_back(token);
      writing_.add(token, logit - static_cast<double>(scores.log_sums[row]), longest_, options_,
                   [&](std::span<const std::int32_t> all) { return options_.stop && options_.stop(0, 0, all); });
      if (row == guess_.tokens.size()) break;
      ++compared;
      if (token != guess_.tokens[row]) break;
      ++right;
    }
    if (compared > 0) pace_.compared(guess_.kind, compared, right);
    right = std::min(right, tried_);
    result_.guessed += static_cast<std::int64_t>(tried_), result_.right += static_cast<std::int64_t>(right);
    model_.keep(model_.length() - static_cast<std::int64_t>(tried_ - right));
  }

  nn::TextModel& model_;
  Drafter& drafter_;
  const SampleOptions& options_;
  std::function<double()> clock_;
  Sampler sampler_;
  std::size_t most_;
  SpeculationPace pace_;
  std::vector<std::int32_t> text_;
  std::int64_t longest_;
  Guess guess_;
  std::size_t tried_ = 0;  // tokens of the guess
  Writing writing_;
  Speculated result_;
};

}  // namespace

Speculated speculate(nn::TextModel& model, Drafter& drafter, const SampleOptions& options,
                     const SpeculateOptions& how) {
  check_draws(options);
  check(!options.prompt.empty() && options.samples == 1 && options.max_lengths.size() == 1 &&
            options.max_lengths[0] >= 1 && options.numbers.empty(),
        "speculate: it continues one prompt by one text");
  return Speculation(model, drafter, options, how).run();
}

}  // namespace attend::decode
