// Which row of the caches holds each position of a row, for beam search on a GPU. A row that continues another's text
// reads its positions where they lie. So no cache moves while hypotheses change places, and a captured step stays
// valid.
//   table [rows, capacity]: at first every row holds its own positions
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::nn {

class RowTable {
 public:
  // Rows come in groups of `group` neighbours, and continue rows of their group.
  RowTable(Backend& backend, std::int64_t rows, std::int64_t group) : backend_(backend), group_(group) { reset(rows); }

  const Tensor& table() const { return table_; }
  // The table gets this many columns and keeps its contents. True if its memory moved.
  bool reserve(std::int64_t capacity);
  // Before the next step, row i continues row from[i]; as many rows as before.
  void move(std::span<const std::int32_t> from);
  std::span<const std::int32_t> moves() const { return moves_; }
  // In a step: takes moves() into the table, for rows of these lengths, the newest position counted. Both i32 [rows].
  void follow(const Tensor& moves, const Tensor& lengths) const;
  // The step was computed.
  void followed();
  // Places among all rows · capacity positions from which each position of rows `from` must be copied, i32 [n ·
  // capacity].
  Tensor places_of(std::span<const std::int32_t> from) const;
  // So many rows now, and every row holds its own positions.
  void reset(std::int64_t rows);

 private:
  Tensor own_rows(std::int64_t capacity) const;

  Backend& backend_;
  std::int64_t group_;
  std::vector<std::int32_t> moves_;  // one per row; of a row that goes on as itself, its own number
  Tensor table_;                     // undefined before reserve()
};

}  // namespace attend::nn
