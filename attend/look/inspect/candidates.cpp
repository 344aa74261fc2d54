#include "attend/look/inspect/candidates.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace attend::look {

std::vector<Candidate> candidates_of(std::span<const float> logits, const CandidateOptions& options) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(logits.size()); ++id)
    if (!options.allowed || options.allowed(id)) ids.push_back(id);
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(std::min(options.count, ids.size()));
  std::partial_sort(ids.begin(), middle, ids.end(), [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  });
  std::vector<Candidate> candidates;
  for (auto id = ids.begin(); id != middle; ++id)
    candidates.push_back({*id, options.name(*id), std::exp(logits[static_cast<std::size_t>(*id)] - options.log_sum)});
  return candidates;
}

Output output_of(std::span<const float> logits, const CandidateOptions& options, std::string line) {
  Output output{
      .words = candidates_of(logits, options), .logits = {}, .log_sum = options.log_sum, .line = std::move(line)};
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(logits.size()); ++id)
    if (!options.allowed || options.allowed(id)) output.logits.push_back(logits[static_cast<std::size_t>(id)]);
  std::ranges::sort(output.logits, std::greater<>());
  return output;
}

std::string percent_of(float probability) {
  const double percent = 100 * static_cast<double>(probability);
  if (percent > 0 && percent < 0.05) return "under 0.1 %";
  if (percent >= 99.95 && percent < 100) return "over 99.9 %";
  return fmt::format("{:.{}f} %", percent, percent < 10 || (percent > 99 && percent < 100) ? 1 : 0);
}

float log_sum_of(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - most));
  return most + static_cast<float>(std::log(sum));
}

}  // namespace attend::look
