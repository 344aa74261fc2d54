#include "attend/decode/draft_model.h"

#include <algorithm>
#include <bit>

namespace attend::decode {

DraftModel::DraftModel(nn::TextModel& model, const SampleOptions& options)
    : model_(model), options_(options), sampler_(options_, model.vocabulary(), model.suppress(options.suppressed)) {}

Guess DraftModel::guess(std::span<const std::int32_t> text, std::size_t most) {
  Guess guess;
  if (static_cast<std::int64_t>(text.size() + most) > model_.room()) return guess;
  std::vector<std::int32_t> longer(text.begin(), text.end());
  while (guess.tokens.size() < most) {
    const std::int32_t token = next(longer);
    guess.tokens.push_back(token), longer.push_back(token);
    if (token == options_.end) break;
  }
  return guess;
}

std::int32_t DraftModel::next(std::span<const std::int32_t> text) {
  constexpr std::size_t kMost = 16;  // tokens of a step
  // Tokens that the large model rejected are taken back. The newest is read again at least, for its scores.
  const auto same = std::ranges::mismatch(read_, text.first(text.size() - 1)).in1 - read_.begin();
  read_.resize(static_cast<std::size_t>(same));
  if (same > 0) model_.keep(same);
  const Sampler::Text known{options_.prompt, text.subspan(options_.prompt.size())};
  const SamplingParams draw = draw_at(options_, known.written.size());
  Sampler::Drawn drawn{};
  while (read_.size() < text.size()) {
    // Few different numbers of tokens, because each is planned on its own.
    const std::size_t left = text.size() - read_.size(),
                      count = read_.empty() ? left : std::min(std::bit_floor(left), kMost);
    const std::vector<SamplingParams> draws(read_.empty() ? 1 : count, draw);
    const std::span<const std::int32_t> tokens = text.subspan(read_.size(), count);
    const nn::StepModel::Scores scores = model_.read(tokens, sampler_.wanted(draws));
    read_.insert(read_.end(), tokens.begin(), tokens.end());
    if (read_.size() == text.size()) drawn = sampler_(scores, draws.size() - 1, known, draw);
  }
  return drawn.token;
}

}  // namespace attend::decode
