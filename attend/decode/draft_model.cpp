#include "attend/decode/draft_model.h"

#include <algorithm>

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
  // Tokens that the large model rejected are taken back. The newest is read again at least, for its scores.
  const auto same = std::ranges::mismatch(read_, text.first(text.size() - 1)).in1 - read_.begin();
  read_.resize(static_cast<std::size_t>(same));
  if (same > 0) model_.keep(same);
  const Sampler::Text known{options_.prompt, text.subspan(options_.prompt.size())};
  const SamplingParams draw = draw_at(options_, known.written.size());
  // Only the newest token needs scores, and a step of one token is planned already.
  if (const std::span<const std::int32_t> missing = text.subspan(read_.size()); missing.size() > 1)
    model_.skip(missing.first(missing.size() - 1));
  read_.assign(text.begin(), text.end());
  const nn::StepModel::Scores scores = model_.read(text.last(1), sampler_.wanted({&draw, 1}));
  return sampler_(scores, 0, known, draw).token;
}

}  // namespace attend::decode
