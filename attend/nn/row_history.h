// Tracks which cached positions the rows of a search share. Hypotheses of one text mostly differ only in their last
// tokens, and only those must move in a cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attend/nn/kv_cache.h"

namespace attend::nn {

class RowHistory {
 public:
  explicit RowHistory(std::int64_t rows) : written_by_(static_cast<std::size_t>(rows)) {}

  // The first `positions` are the same in all rows of a group.
  void start(std::int64_t positions, std::int64_t group) {
    for (std::size_t row = 0; row < written_by_.size(); ++row)
      written_by_[row].assign(static_cast<std::size_t>(positions),
                              static_cast<std::int32_t>(row) / static_cast<std::int32_t>(group));
  }
  // Every row has written one more position.
  void append() {
    for (std::size_t row = 0; row < written_by_.size(); ++row)
      written_by_[row].push_back(static_cast<std::int32_t>(row));
  }
  // Row i continues as row from[i]. Returns what every cache must move for it.
  RowMoves move(Backend& backend, std::span<const std::int32_t> from) {
    std::vector<std::int64_t> shared;
    std::vector<std::vector<std::int32_t>> next;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto &mine = written_by_[i], &other = written_by_[static_cast<std::size_t>(from[i])];
      shared.push_back(std::mismatch(mine.begin(), mine.end(), other.begin()).first - mine.begin());
      next.push_back(other);
    }
    written_by_ = std::move(next);
    return RowMoves(backend, from, std::move(shared));
  }

 private:
  // Per row, the row that wrote each position of its cache. Rows that agree at a position also agree before it.
  std::vector<std::vector<std::int32_t>> written_by_;
};

}  // namespace attend::nn
