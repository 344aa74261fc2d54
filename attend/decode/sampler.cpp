#include "attend/decode/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/base/error.h"

namespace attend::decode {

SampleOptions greedy_at_zero(SampleOptions options) {
  if (options.temperature == 0) options.temperature = 1, options.top_k = 1;
  return options;
}

void check_draws(const SampleOptions& options) {
  check(options.temperature > 0 && std::isfinite(options.temperature),
        "sample: the temperature must be above 0, not {}", options.temperature);
  check(options.top_p > 0 && options.top_p <= 1 && options.min_p >= 0 && options.min_p <= 1,
        "sample: top-p must be above 0 and at most 1, min-p 0 to 1, not {} and {}", options.top_p, options.min_p);
  check(options.repetition_penalty > 0, "sample: the repetition penalty must be above 0, not {}",
        options.repetition_penalty);
  check(options.top_k >= 0, "sample: top-k must not be negative, as {} is", options.top_k);
}

SamplingParams draw_for(const SampleOptions& options, std::uint64_t seed, std::uint32_t number, std::uint32_t sample) {
  return {.temperature = options.temperature,
          .top_k = static_cast<std::int32_t>(std::min<std::int64_t>(options.top_k, INT32_MAX)),
          .top_p = options.top_p,
          .min_p = options.min_p,
          .seed_low = static_cast<std::uint32_t>(seed),
          .seed_high = static_cast<std::uint32_t>(seed >> 32),
          .number = number,
          .sample = sample};
}

SamplingParams draw_at(const SampleOptions& options, std::size_t position) {
  SamplingParams draw = draw_for(options, options.seed, 0, 0);
  draw.position = static_cast<std::uint32_t>(position);
  return draw;
}

Sampler::Sampler(const SampleOptions& options, std::int64_t vocabulary, std::int64_t allowed)
    : options_(options), suppressed_(static_cast<std::size_t>(vocabulary)) {
  for (std::int32_t id : options.suppressed)
    if (id >= 0 && id < vocabulary) suppressed_[static_cast<std::size_t>(id)] = true;
  check(allowed > 0, "sample: every token is suppressed");
}

nn::StepModel::Wanted Sampler::wanted(std::span<const SamplingParams> draws) const {
  if (greedy()) return {1};
  return model_may_draw() ? nn::StepModel::Wanted(0, draws) : nn::StepModel::Wanted(0);
}

Sampler::Drawn Sampler::operator()(const nn::StepModel::Scores& scores, std::size_t row, const Text& text,
                                   const SamplingParams& draw) {
  if (!scores.drawn.empty()) return {scores.drawn[row], static_cast<double>(scores.drawn_logits[row])};
  const std::size_t each = scores.logits.size() / scores.log_sums.size();
  const std::span<const float> logits = scores.logits.subspan(row * each, each);
  if (!scores.ids.empty()) return {scores.ids[row * each], static_cast<double>(logits[0])};
  const std::int32_t token = drawn_from_all(logits, text, draw);
  return {token, static_cast<double>(logits[static_cast<std::size_t>(token)])};
}

std::int32_t Sampler::drawn_from_all(std::span<const float> logits, const Text& text, const SamplingParams& draw) {
  changed_.assign(logits.begin(), logits.end());
  if (options_.repetition_penalty != 1) penalise(logits, text);
  for (std::size_t id = 0; id < changed_.size(); ++id)
    if (suppressed_[id] || std::isnan(changed_[id])) changed_[id] = -std::numeric_limits<float>::infinity();
  const float largest = *std::ranges::max_element(changed_);
  weights_.clear();
  for (const float logit : changed_) weights_.push_back(std::exp((logit - largest) / draw.temperature));
  return drawn_token(changed_, weights_, draw, number_of(draw));
}

void Sampler::penalise(std::span<const float> logits, const Text& text) {
  const auto change = [&](std::int32_t id) {
    const float logit = logits[static_cast<std::size_t>(id)];
    changed_[static_cast<std::size_t>(id)] =
        logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
  };
  for (std::int32_t id : text.prompt) change(id);
  for (std::int32_t id : text.written) change(id);
}

}  // namespace attend::decode
