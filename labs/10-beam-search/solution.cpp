// Beam search over a table of log probabilities.
#include <algorithm>
#include <cmath>

#include "lab.h"

struct Hypothesis {
  std::vector<int> tokens;
  double score = 0;
};

lab::Array beam_search(const lab::Array& first, const lab::Array& following, int beams, int length, double alpha) {
  // hole
  std::vector<Hypothesis> alive(1), finished;
  for (int step = 0; step < length && !alive.empty(); ++step) {
    std::vector<Hypothesis> candidates;
    for (const Hypothesis& from : alive)
      for (int token = 0; token < first.shape[0]; ++token) {
        Hypothesis next = from;
        next.score += from.tokens.empty() ? first(token) : following(from.tokens.back(), token);
        next.tokens.push_back(token);
        candidates.push_back(next);
      }
    std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
    if (static_cast<int>(candidates.size()) > beams) candidates.resize(static_cast<std::size_t>(beams));
    alive.clear();
    for (const Hypothesis& one : candidates) (one.tokens.back() == 0 ? finished : alive).push_back(one);
  }
  finished.insert(finished.end(), alive.begin(), alive.end());
  const auto value = [&](const Hypothesis& one) { return one.score / std::pow(one.tokens.size(), alpha); };
  const Hypothesis best = *std::max_element(finished.begin(), finished.end(),
                                            [&](const auto& a, const auto& b) { return value(a) < value(b); });
  lab::Array result({static_cast<int>(best.tokens.size()) + 1});
  for (std::size_t i = 0; i < best.tokens.size(); ++i) result.data[i] = best.tokens[i];
  result.data.back() = value(best);
  return result;
  // end
}

int main() { return lab::Program().add("beam_search", beam_search).run(); }
