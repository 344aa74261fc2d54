#include "attend/decode/speculation_pace.h"

#include <algorithm>
#include <cmath>

namespace attend::decode {

namespace {

constexpr std::size_t kSizes[] = {1, 3, 7, 15};  // tokens of a guess; a step has one more

}  // namespace

void SpeculationPace::Seconds::add(double seconds) {
  if (count_++ >= kPlanned) last_[(count_ - 1 - kPlanned) % kKept] = seconds;
}

double SpeculationPace::Seconds::median() const {
  std::array<double, kKept> sorted = last_;
  const auto count = static_cast<std::ptrdiff_t>(std::min(count_ - kPlanned, kKept));
  std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.begin() + count);
  return sorted[static_cast<std::size_t>(count / 2)];
}

SpeculationPace::SpeculationPace(std::span<const double> kinds, std::size_t most) : most_(most) {
  constexpr double kWeight = 4;  // of the expectation, in tokens
  for (const double share : kinds) shares_.push_back({share * kWeight, kWeight});
}

void SpeculationPace::compared(std::size_t kind, std::size_t tokens, std::size_t right) {
  constexpr double kKept = 0.9;
  const double kept = std::pow(kKept, static_cast<double>(tokens));
  Share& share = shares_[kind];
  share = {share.right * kept + static_cast<double>(right), share.compared * kept + static_cast<double>(tokens)};
}

void SpeculationPace::step_took(std::size_t tokens, double seconds) {
  if (tokens < steps_.size()) steps_[tokens].add(seconds);
}

void SpeculationPace::guess_took(std::size_t tokens, double seconds) {
  if (tokens == 0) return;
  if (guesses_.any()) last_guess_ = seconds;  // the first reads the prompt
  guesses_.add(seconds / static_cast<double>(tokens));
}

// A size that was not measured is expected to be cheap, so that it is tried.
double SpeculationPace::step_seconds(std::size_t tokens) const {
  constexpr double kEach = 0.05;
  if (steps_[tokens].known()) return steps_[tokens].median();
  const double one = steps_[1].known() ? steps_[1].median() : 1;
  return one * (1 + kEach * static_cast<double>(tokens - 1));
}

// A guess is right up to its first wrong token, and the step itself gives one more: 1 + p + p² + ..
double SpeculationPace::tokens_a_second(std::size_t kind, std::size_t guessed) const {
  const double share = shares_[kind].right / shares_[kind].compared;
  double tokens = 1, power = 1;
  for (std::size_t i = 0; i < guessed; ++i) tokens += power *= share;
  const double guessing = guesses_.known() ? guesses_.median() * static_cast<double>(guessed) : 0;
  return tokens / (step_seconds(guessed + 1) + guessing);
}

bool SpeculationPace::may_guess() const {
  constexpr double kMostLost = 0.03;
  return steps_[1].known() && lost_ + last_guess_ <= steps_[1].median() + kMostLost * all_;
}

std::size_t SpeculationPace::tokens(std::size_t kind, std::size_t available) const {
  constexpr double kWorthIt = 1.03;
  if (!may_guess()) return 0;
  std::size_t best = 0;
  double fastest = kWorthIt * tokens_a_second(kind, 0);
  for (const std::size_t size : kSizes) {
    if (size > std::min(available, most_)) break;
    if (const double speed = tokens_a_second(kind, size); speed > fastest) best = size, fastest = speed;
  }
  return best;
}

std::size_t SpeculationPace::tokens_of_costly(std::size_t available) const {
  if (!may_guess() || available == 0) return 0;
  return std::max<std::size_t>(1, tokens(0, std::min(available, longest_)));
}

void SpeculationPace::wrote(std::size_t guessed, std::size_t tokens, double seconds) {
  all_ += seconds;
  if (guessed == 0 || !steps_[1].known()) return;
  lost_ += seconds - static_cast<double>(tokens) * steps_[1].median();
  if (tokens > guessed) longest_ = std::min(2 * std::max(longest_, guessed) + 1, most_);
}

}  // namespace attend::decode
