#include "attend/tensor/sampling_params.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace attend {

namespace {

struct Candidate {
  float logit, weight;
  std::int32_t id;
};

double sum_of(std::span<const float> weights) {
  double sums[4] = {};  // sums that do not wait for each other
  std::size_t i = 0;
  for (; i + 4 <= weights.size(); i += 4)
    for (std::size_t j = 0; j < 4; ++j) sums[j] += static_cast<double>(weights[i + j]);
  for (; i < weights.size(); ++i) sums[0] += static_cast<double>(weights[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double sum_of(std::span<const Candidate> candidates) {
  double sum = 0;
  for (const Candidate& one : candidates) sum += static_cast<double>(one.weight);
  return sum;
}

// The one at u of the way through all that have a weight, a stretch at a time.
std::int32_t at_share(std::span<const float> weights, double u) {
  constexpr std::size_t kStretch = 256;
  const auto stretch = [&](std::size_t at) { return weights.subspan(at, std::min(kStretch, weights.size() - at)); };
  double left = 0;
  for (std::size_t at = 0; at < weights.size(); at += kStretch) left += sum_of(stretch(at));
  left *= u;
  std::size_t last = 0;  // with a weight, where rounding goes past the end
  for (std::size_t at = 0; at < weights.size(); at += kStretch) {
    const double here = sum_of(stretch(at));
    if (here > 0) last = at;
    if (left < here) break;
    left -= here;
  }
  std::size_t found = last;
  for (std::size_t i = last; i < std::min(last + kStretch, weights.size()); ++i) {
    if (weights[i] == 0) continue;
    found = i;
    if ((left -= static_cast<double>(weights[i])) < 0) break;
  }
  return static_cast<std::int32_t>(found);
}

std::vector<Candidate> of_at_least(float least, std::span<const float> logits, std::span<const float> weights) {
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] >= least && weights[i] > 0) found.push_back({logits[i], weights[i], static_cast<std::int32_t>(i)});
  return found;
}

bool likelier(const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// The last of the first k.
Candidate last_of_count(std::span<Candidate>& candidates, std::size_t count) {
  std::ranges::nth_element(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(count) - 1, likelier);
  candidates = candidates.first(count);
  return candidates.back();
}

// The last of as many of the first as hold `mass` together. Half of them are left at every step.
Candidate last_of_mass(std::span<Candidate> candidates, double mass) {
  while (candidates.size() > 1) {
    const std::size_t half = candidates.size() / 2;
    std::ranges::nth_element(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(half), likelier);
    const double sum = sum_of(candidates.first(half));
    candidates = sum >= mass ? candidates.first(half) : candidates.subspan(half);
    if (sum < mass) mass -= sum;
  }
  return candidates.front();
}

// The last that top_k and top_p leave, or one behind all. A sieve first, so that few are compared with each other: the
// largest weight is 1.
Candidate last_kept(std::span<const float> logits, std::span<const float> weights, const SamplingParams& draw) {
  constexpr Candidate kNone = {-std::numeric_limits<float>::infinity(), 0, INT32_MAX};
  const auto count = static_cast<std::size_t>(draw.top_k);
  const bool counts = draw.top_k > 0 && count < weights.size();
  if (!counts && draw.top_p >= 1) return kNone;
  const double share = std::min(static_cast<double>(draw.top_p), 1.0), mass = counts ? 0 : share * sum_of(weights);
  std::vector<Candidate> found;
  for (const float least : {0x1p-3f, 0x1p-6f, 0x1p-10f, 0x1p-16f, 0.0f})
    if (found = of_at_least(least, logits, weights); counts ? found.size() >= count : sum_of(found) >= mass) break;
  if (found.empty()) return kNone;
  std::span<Candidate> first = found;
  const Candidate last = counts && first.size() >= count ? last_of_count(first, count) : kNone;
  return draw.top_p < 1 ? last_of_mass(first, counts ? share * sum_of(first) : mass) : last;
}

}  // namespace

std::int32_t drawn_token(std::span<const float> logits, std::span<const float> weights, const SamplingParams& draw,
                         double u) {
  if (draw.top_k == 0 && draw.top_p >= 1 && draw.min_p <= 0) return at_share(weights, u);
  const Candidate last = last_kept(logits, weights, draw);
  std::vector<float> kept(weights.size(), 0.0f);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const bool keeps = logits[i] != last.logit ? logits[i] > last.logit : static_cast<std::int32_t>(i) <= last.id;
    if (keeps && weights[i] >= draw.min_p) kept[i] = weights[i];
  }
  return at_share(kept, u);
}

}  // namespace attend
