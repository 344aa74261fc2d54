#include "attend/decode/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::decode {

void check_draws(const SampleOptions& options) {
  check(options.temperature > 0 && std::isfinite(options.temperature),
        "sample: the temperature must be above 0, not {}", options.temperature);
  check(options.top_p > 0 && options.top_p <= 1 && options.min_p >= 0 && options.min_p <= 1,
        "sample: top-p must be above 0 and at most 1, min-p 0 to 1, not {} and {}", options.top_p, options.min_p);
  check(options.repetition_penalty > 0, "sample: the repetition penalty must be above 0, not {}",
        options.repetition_penalty);
  check(options.top_k >= 0, "sample: top-k must not be negative, as {} is", options.top_k);
}

// 53 bits, so that no token of a large vocabulary is out of reach.
double uniform(std::uint64_t seed, std::uint32_t number, std::uint64_t draw) {
  const Random4 words = philox(seed, number, draw);
  const std::uint64_t bits = static_cast<std::uint64_t>(words.word[0]) << 32 | words.word[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Drawer::Drawer(const SampleOptions& options, std::int64_t vocabulary, std::int64_t allowed)
    : options_(options), suppressed_(static_cast<std::size_t>(vocabulary)) {
  for (std::int32_t id : options.suppressed)
    if (id >= 0 && id < vocabulary) suppressed_[static_cast<std::size_t>(id)] = true;
  check(allowed > 0, "sample: every token is suppressed");
  // More than a few are as well taken from all.
  constexpr std::int64_t kFew = 64;
  if (options.top_k > 0 && options.repetition_penalty == 1 && options.top_k <= kFew)
    wanted_ = std::min(options.top_k, allowed);
}

Drawer::Drawn Drawer::operator()(const nn::StepModel::Scores& scores, std::size_t row, const Text& text, double u) {
  const std::size_t each = scores.logits.size() / scores.log_sums.size();
  const std::span<const float> logits = scores.logits.subspan(row * each, each);
  scores.ids.empty() ? choose_from_all(logits, text) : take(logits, scores.ids.subspan(row * each, each));
  weights_.clear();
  const double largest = *std::ranges::max_element(logits_);
  for (double logit : logits_)
    weights_.push_back(std::exp((logit - largest) / static_cast<double>(options_.temperature)));
  cut_tail();
  double left = u * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  std::size_t drawn = 0;
  while (drawn + 1 < weights_.size() && (left -= weights_[drawn]) >= 0) ++drawn;
  const std::int32_t token = ids_[drawn];
  return {token, scores.ids.empty() ? static_cast<double>(logits[static_cast<std::size_t>(token)]) : logits_[drawn]};
}

// The model has sorted them.
void Drawer::take(std::span<const float> logits, std::span<const std::int32_t> ids) {
  ids_.assign(ids.begin(), ids.end());
  logits_.assign(logits.begin(), logits.end());
}

// The likeliest first where only some of them count; equal ones go to the smaller id.
void Drawer::choose_from_all(std::span<const float> logits, const Text& text) {
  if (options_.repetition_penalty != 1) logits = penalised(logits, text);
  ids_.clear();
  for (std::size_t id = 0; id < logits.size(); ++id)
    if (!suppressed_[id]) ids_.push_back(static_cast<std::int32_t>(id));
  const bool some = options_.top_k > 0 && options_.top_k < static_cast<std::int64_t>(ids_.size());
  if (some || options_.top_p < 1 || options_.min_p > 0) {
    const auto end = some ? ids_.begin() + options_.top_k : ids_.end();
    std::partial_sort(ids_.begin(), end, ids_.end(), [&](std::int32_t a, std::int32_t b) {
      const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    ids_.erase(end, ids_.end());
  }
  logits_.clear();
  for (std::int32_t id : ids_) logits_.push_back(static_cast<double>(logits[static_cast<std::size_t>(id)]));
}

std::span<const float> Drawer::penalised(std::span<const float> logits, const Text& text) {
  changed_.assign(logits.begin(), logits.end());
  const auto change = [&](std::int32_t id) {
    const float logit = logits[static_cast<std::size_t>(id)];
    changed_[static_cast<std::size_t>(id)] =
        logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
  };
  for (std::int32_t id : text.prompt) change(id);
  for (std::int32_t id : text.written) change(id);
  return changed_;
}

// Weights are sorted, the first is 1: drops what top_p and min_p leave out.
void Drawer::cut_tail() {
  if (options_.top_p < 1) {
    const double wanted = static_cast<double>(options_.top_p) * std::accumulate(weights_.begin(), weights_.end(), 0.0);
    double sum = 0;
    std::size_t kept = 0;
    while (kept < weights_.size() && sum < wanted) sum += weights_[kept++];
    weights_.resize(std::max<std::size_t>(kept, 1));
  }
  if (options_.min_p > 0)
    while (weights_.size() > 1 && weights_.back() < static_cast<double>(options_.min_p)) weights_.pop_back();
}

}  // namespace attend::decode
