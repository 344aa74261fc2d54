#include "attend/train/loop/example.h"

#include <algorithm>

namespace attend::train {

BestAndWorst best_and_worst(std::vector<ScoredExample> all) {
  constexpr std::ptrdiff_t kShown = 3;
  std::ranges::stable_sort(all, [](const ScoredExample& a, const ScoredExample& b) { return a.score > b.score; });
  // Of a few each is shown once.
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  const std::ptrdiff_t best = std::min(kShown, (count + 1) / 2), worst = std::min(kShown, count - best);
  BestAndWorst shown;
  shown.best.assign(all.begin(), all.begin() + best);
  shown.worst.assign(all.rbegin(), all.rbegin() + worst);
  return shown;
}

}  // namespace attend::train
