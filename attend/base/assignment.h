// Hungarian matching (Kuhn 1955; the shortest augmenting paths of Jonker and Volgenant 1987): partners for rows and
// columns so that what the pairs cost together is the least possible. DETR pairs its queries with objects by it.
#pragma once

#include <span>
#include <vector>

namespace attend {

struct AssignedPair {
  int row, column;
  bool operator==(const AssignedPair&) const = default;
};

// The min(rows, columns) pairs, by row, of cost [rows x columns], row after row. Exact, and the same every time: of
// equal sums one is taken. O(short side^2 * long side): 100 x 30 takes some 20 us. Throws Error where a cost is not a
// number.
std::vector<AssignedPair> linear_sum_assignment(std::span<const double> cost, int rows, int columns);

// What the pairs cost together.
double total_cost(std::span<const double> cost, int columns, std::span<const AssignedPair> pairs);

}  // namespace attend
