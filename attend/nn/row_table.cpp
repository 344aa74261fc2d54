// The table of a beam search's rows: growing, following, and where positions lie when rows are dropped.
#include "attend/nn/row_table.h"

#include <numeric>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

Tensor RowTable::own_rows(std::int64_t capacity) const {
  std::vector<std::int32_t> rows;
  for (std::size_t row = 0; row < moves_.size(); ++row)
    rows.insert(rows.end(), static_cast<std::size_t>(capacity), static_cast<std::int32_t>(row));
  Tensor table = make_tensor(backend_, {static_cast<std::int64_t>(moves_.size()), capacity}, DType::i32);
  upload(table, rows);
  return table;
}

void RowTable::reset(std::int64_t rows) {
  moves_.resize(static_cast<std::size_t>(rows));
  followed();
  if (table_.defined()) table_ = own_rows(table_.width());
}

bool RowTable::reserve(std::int64_t capacity) {
  const std::int64_t held = table_.defined() ? table_.width() : 0;
  if (capacity == held) return false;
  Tensor larger = own_rows(capacity);
  if (held > 0) backend_.strided_copy({table_, 0, {held, 1}}, {larger, 0, {capacity, 1}}, {table_.rows(), held}, false);
  table_ = std::move(larger);
  return true;
}

void RowTable::move(std::span<const std::int32_t> from) {
  check(from.size() == moves_.size(), "decoder: {} rows move in a table of {}", from.size(), moves_.size());
  std::vector<std::int32_t> next;
  for (std::int32_t row : from) next.push_back(moves_.at(static_cast<std::size_t>(row)));
  moves_ = std::move(next);
}

void RowTable::follow(const Tensor& moves, const Tensor& lengths) const {
  backend_.follow_rows(table_, moves, lengths, group_);
}

void RowTable::followed() { std::iota(moves_.begin(), moves_.end(), 0); }

Tensor RowTable::places_of(std::span<const std::int32_t> from) const {
  const auto capacity = static_cast<std::size_t>(table_.width());
  const std::vector<std::int32_t> rows = download_ints(table_);
  std::vector<std::int32_t> places;
  for (std::int32_t row : from) {
    const auto before = static_cast<std::size_t>(moves_.at(static_cast<std::size_t>(row)));
    for (std::size_t s = 0; s < capacity; ++s)
      places.push_back(rows[before * capacity + s] * static_cast<std::int32_t>(capacity) +
                       static_cast<std::int32_t>(s));
  }
  Tensor on_device = make_tensor(backend_, {static_cast<std::int64_t>(places.size())}, DType::i32);
  upload(on_device, places);
  return on_device;
}

}  // namespace attend::nn
