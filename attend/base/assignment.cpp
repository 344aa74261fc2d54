#include "attend/base/assignment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "attend/base/error.h"

namespace attend {

namespace {

// Adds the lines one after another. Each has a price, and so has each place; no place costs a line less than the two
// prices together, and exactly so much where they are partners. That makes the partners of the lines so far the best
// ones, and it is kept up while a new line pushes others on along the cheapest path to a free place.
class Matching {
 public:
  // Line l costs cost[l * line_step + p * place_step] at place p; there are at least as many places as lines.
  struct Costs {
    const double* cost;
    std::size_t line_step, place_step;
  };

  Matching(int lines, int places, const Costs& costs)
      : costs_(costs),
        line_price_(lines),
        place_price_(places),
        distance_(places),
        came_from_(places),
        done_(places),
        place_of_(lines, kNone),
        line_at_(places, kNone) {
    for (int line = 0; line < lines; ++line) add(line);
  }

  const std::vector<int>& place_of() const { return place_of_; }

 private:
  static constexpr int kNone = -1;

  double reduced(int line, int place) const {
    return costs_.cost[line * costs_.line_step + place * costs_.place_step] - line_price_[line] - place_price_[place];
  }

  // Dijkstra over the places from a line without one; ends at the nearest free place.
  int nearest_free(int first, double& length) {
    std::fill(distance_.begin(), distance_.end(), std::numeric_limits<double>::infinity());
    std::fill(done_.begin(), done_.end(), false);
    const int places = static_cast<int>(line_at_.size());
    length = 0;
    for (int line = first;;) {
      int nearest = kNone;
      for (int place = 0; place < places; ++place) {
        if (done_[place]) continue;
        const double through = length + reduced(line, place);
        if (through < distance_[place]) {
          distance_[place] = through;
          came_from_[place] = line;
        }
        // Of places as near as each other a free one ends the search.
        if (nearest == kNone || distance_[place] < distance_[nearest] ||
            (distance_[place] == distance_[nearest] && line_at_[place] == kNone && line_at_[nearest] != kNone))
          nearest = place;
      }
      length = distance_[nearest];
      done_[nearest] = true;
      if (line_at_[nearest] == kNone) return nearest;
      line = line_at_[nearest];
    }
  }

  void add(int line) {
    double length = 0;
    const int end = nearest_free(line, length);
    line_price_[line] += length;
    for (std::size_t place = 0; place < done_.size(); ++place) {
      if (!done_[place] || static_cast<int>(place) == end) continue;
      line_price_[line_at_[place]] += length - distance_[place];
      place_price_[place] -= length - distance_[place];
    }
    for (int place = end; place != kNone;) {
      const int mover = came_from_[place];
      line_at_[place] = mover;
      std::swap(place_of_[mover], place);
    }
  }

  Costs costs_;
  std::vector<double> line_price_, place_price_, distance_;
  std::vector<int> came_from_;
  std::vector<char> done_;
  std::vector<int> place_of_, line_at_;
};

}  // namespace

std::vector<AssignedPair> linear_sum_assignment(std::span<const double> cost, int rows, int columns) {
  check(rows >= 0 && columns >= 0 && cost.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns),
        "assignment: {} costs are not those of {} rows and {} columns", cost.size(), rows, columns);
  // Prices are sums along a path; so far from the largest double they stay numbers.
  const double most = std::numeric_limits<double>::max() / (8.0 * (1.0 + std::min(rows, columns)));
  for (std::size_t i = 0; i < cost.size(); ++i)
    check(std::abs(cost[i]) <= most, "assignment: row {}, column {} costs {}, which cannot be added up", i / columns,
          i % columns, cost[i]);
  std::vector<AssignedPair> pairs;
  if (rows == 0 || columns == 0) return pairs;
  const auto width = static_cast<std::size_t>(columns);
  if (rows <= columns) {
    const Matching matching(rows, columns, {cost.data(), width, 1});
    for (int row = 0; row < rows; ++row) pairs.push_back({row, matching.place_of()[row]});
  } else {
    const Matching matching(columns, rows, {cost.data(), 1, width});
    for (int column = 0; column < columns; ++column) pairs.push_back({matching.place_of()[column], column});
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  }
  return pairs;
}

double total_cost(std::span<const double> cost, int columns, std::span<const AssignedPair> pairs) {
  double total = 0;
  for (const auto& [row, column] : pairs) total += cost[static_cast<std::size_t>(row) * columns + column];
  return total;
}

}  // namespace attend
