// Generalised IoU, and the cheapest assignment of queries to objects.
#include <algorithm>
#include <cmath>

#include "lab.h"

lab::Array giou(const lab::Array& a, const lab::Array& b) {
  // hole
  lab::Array result({a.shape[0], b.shape[0]});
  for (int i = 0; i < a.shape[0]; ++i)
    for (int j = 0; j < b.shape[0]; ++j) {
      double inner = 1, hull = 1;
      for (int axis = 0; axis < 2; ++axis) {
        const double low_a = a(i, axis) - a(i, axis + 2) / 2, high_a = a(i, axis) + a(i, axis + 2) / 2;
        const double low_b = b(j, axis) - b(j, axis + 2) / 2, high_b = b(j, axis) + b(j, axis + 2) / 2;
        inner *= std::max(0.0, std::min(high_a, high_b) - std::max(low_a, low_b));
        hull *= std::max(high_a, high_b) - std::min(low_a, low_b);
      }
      const double both = a(i, 2) * a(i, 3) + b(j, 2) * b(j, 3) - inner;
      result(i, j) = inner / both - (hull - both) / hull;
    }
  return result;
  // end
}

lab::Array match(const lab::Array& probabilities, const lab::Array& boxes, const lab::Array& labels,
                 const lab::Array& targets) {
  // hole
  const int Q = boxes.shape[0], M = targets.shape[0];
  lab::Array cost = giou(boxes, targets);
  for (int q = 0; q < Q; ++q)
    for (int m = 0; m < M; ++m) {
      cost(q, m) = -2 * cost(q, m) - probabilities(q, static_cast<int>(labels(m)));
      for (int i = 0; i < 4; ++i) cost(q, m) += 5 * std::abs(boxes(q, i) - targets(m, i));
    }
  std::vector<int> order, best;
  for (int q = 0; q < Q; ++q) order.push_back(q);
  double least = 1e300;
  do {
    double total = 0;
    for (int m = 0; m < M; ++m) total += cost(order[static_cast<std::size_t>(m)], m);
    if (total < least) least = total, best = order;
  } while (std::next_permutation(order.begin(), order.end()));
  lab::Array result({M});
  for (int m = 0; m < M; ++m) result(m) = best[static_cast<std::size_t>(m)];
  return result;
  // end
}

int main() { return lab::Program().add("giou", giou).add("match", match).run(); }
