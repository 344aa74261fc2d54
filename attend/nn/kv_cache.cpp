// The cache of keys and values: appending, growing, and reordering rows for a search.
#include "attend/nn/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

namespace {

constexpr std::int64_t kFirstCapacity = 32;

}  // namespace

RowMoves::RowMoves(Backend& backend, std::span<const std::int32_t> rows, std::vector<std::int64_t> same)
    : from(rows.begin(), rows.end()), shared(std::move(same)) {
  check(shared.empty() || shared.size() == from.size(), "kv_cache: {} rows move, {} of known history", from.size(),
        shared.size());
  if (backend.on_host()) return;
  on_device = make_tensor(backend, {static_cast<std::int64_t>(from.size())}, DType::i32);
  upload(on_device, from);
}

CacheRing::CacheRing(const AttentionWindow& window, std::int64_t longest) {
  // A window that holds any text needs no ring.
  if (window.before < 0 || window.before >= longest || window.globals + window.before + 1 >= longest) return;
  globals = window.globals, capacity = window.globals + window.before + 1;
}

KvCache::KvCache(Backend& backend, std::int64_t rows, const CacheForm& form, const CacheRing& ring,
                 std::size_t ring_number)
    : rows_(rows), form_(form), ring_(ring), ring_number_(ring_number) {
  check(form.heads >= 1 && form.width % form.heads == 0, "kv_cache: width {} does not divide among {} heads",
        form.width, form.heads);
  // By heads on the host: [rows, 2·H, capacity, D]; on a GPU [rows, 1, capacity, 2·C].
  const std::int64_t parts = backend.on_host() ? 2 * form.heads : 1;
  memory_ = new_memory(backend, parts, ring.room(kFirstCapacity));
}

Tensor KvCache::new_memory(Backend& backend, std::int64_t parts, std::int64_t positions) const {
  Tensor memory = make_tensor(backend, {rows_, parts, positions, 2 * form_.width / parts}, form_.dtype);
  if (form_.cleared) backend.fill(memory, 0);
  return memory;
}

void KvCache::put(const Tensor& keys_values, const Tensor& slots) const {
  check(keys_values.shape() == Shape{slots.size(), 2 * form_.width},
        "kv_cache: {} put into {} slots of a cache of width {}", keys_values.shape(), slots.size(), form_.width);
  memory_.backend().put_rows(keys_values, slots, positions());
}

void KvCache::write(const Tensor& keys_values, const CachePlaces& places) {
  if (places.slots.defined()) return put(keys_values.flat_rows(), slots_in(places));
  append_sequences(keys_values);
}

void KvCache::append_sequences(const Tensor& keys_values) {
  check(keys_values.rank() == 3 && keys_values.dim(2) == 2 * form_.width && keys_values.dim(0) > 0 &&
            rows_ % keys_values.dim(0) == 0,
        "kv_cache: {} appended to a cache of {} rows and width {}", keys_values.shape(), rows_, form_.width);
  const std::int64_t batch = keys_values.dim(0), group = rows_ / batch, count = keys_values.dim(1);
  reserve(length_ + count);
  const std::int64_t parts = memory_.dim(1), piece = memory_.dim(3), part = capacity() * piece;
  const std::int64_t from_row = keys_values.row_stride(), to_row = parts * part;
  // Copies runs of positions that are kept and contiguous: one run, or three where a ring rolls.
  for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
    const std::int64_t first = length_ + begin, place = ring_.place(first);
    const bool kept = ring_.keeps(first, length_ + count);
    for (end = begin + 1; end < count; ++end)
      if (ring_.keeps(length_ + end, length_ + count) != kept ||
          (kept && ring_.place(length_ + end) != place + end - begin))
        break;
    if (!kept) continue;
    const Walk from{
        keys_values, keys_values.window().offset + begin * from_row, {count * from_row, 0, piece, from_row, 1}};
    const Walk to{memory_, place * piece, {group * to_row, to_row, part, piece, 1}};
    memory_.backend().strided_copy(from, to, {batch, group, parts, end - begin, piece}, false);
  }
  length_ += count;
}

bool KvCache::reserve(std::int64_t positions) {
  const std::int64_t held = capacity(), parts = memory_.dim(1), piece = memory_.dim(3);
  if (ring_.room(positions) <= held) return false;
  // Doubling keeps the total cost of copying linear.
  const std::int64_t room = ring_.room(std::max(positions, 2 * held));
  Tensor larger = new_memory(memory_.backend(), parts, room);
  const Walk from{memory_, 0, {held * piece, 1}}, to{larger, 0, {room * piece, 1}};
  memory_.backend().strided_copy(from, to, {rows_ * parts, length_ * piece}, false);
  memory_ = std::move(larger);
  return true;
}

void KvCache::copy_row(std::int64_t from, std::int64_t to, std::int64_t positions) const {
  check(!ring_.rolls() && positions <= capacity() && std::max(from, to) < memory_.dim(0),
        "kv_cache: {} positions of row {} copied to row {} of {} x {}", positions, from, to, memory_.dim(0),
        capacity());
  const std::int64_t parts = memory_.dim(1), piece = memory_.dim(3), part = capacity() * piece;
  const auto row = [&](std::int64_t number) { return Walk{memory_, number * parts * part, {part, 1}}; };
  memory_.backend().strided_copy(row(from), row(to), {parts, positions * piece}, false);
}

bool KvCache::reorder(const RowMoves& moves) {
  const auto rows = static_cast<std::int64_t>(moves.from.size());
  check(rows <= rows_, "kv_cache: {} rows from {}", rows, rows_);
  for (std::int32_t row : moves.from) check(row >= 0 && row < rows_, "kv_cache: row {} of {}", row, rows_);
  if (memory_.backend().on_host()) {
    move_in_place(moves);
  } else {
    Tensor next =
        make_tensor(memory_.backend(), {rows, memory_.dim(1), memory_.dim(2), memory_.dim(3)}, memory_.dtype());
    // A row is copied as one embedding of length capacity · 2·C.
    const std::int64_t row = memory_.size() / memory_.dim(0);
    memory_.backend().embedding(moves.on_device, memory_.reshape({memory_.dim(0), row}), 1, {}, {},
                                next.reshape({rows, row}));
    memory_ = std::move(next);
  }
  return std::exchange(rows_, rows) != rows || !memory_.backend().on_host();
}

void KvCache::gather(const Tensor& places, std::int64_t rows) {
  check(!by_heads() && places.size() == rows * capacity(), "kv_cache: {} places for {} rows of {}", places.size(), rows,
        capacity());
  Tensor next = make_tensor(memory_.backend(), {rows, 1, capacity(), memory_.dim(3)}, memory_.dtype());
  memory_.backend().embedding(places, positions(), 1, {}, {}, next.reshape({-1, memory_.dim(3)}));
  memory_ = std::move(next);
  rows_ = rows;
}

// Hypotheses of one sentence mostly differ only in their last tokens, and only those are copied.
void KvCache::move_in_place(const RowMoves& moves) {
  const auto piece = static_cast<std::size_t>(memory_.dim(3)) * bytes_of(memory_.dtype());
  const auto parts = static_cast<std::size_t>(memory_.dim(1)), room = static_cast<std::size_t>(capacity()),
             length = static_cast<std::size_t>(ring_.room(length_));
  auto* data = static_cast<std::byte*>(memory_.raw());
  const auto place = [&](std::size_t row, std::size_t part, std::size_t position) {
    return data + ((row * parts + part) * room + position) * piece;
  };
  const std::size_t count = moves.from.size();
  // Once a ring has rolled, its places are not in order, so the shared prefix is unknown.
  const bool ordered = !moves.shared.empty() && length == static_cast<std::size_t>(length_);
  const auto kept = [&](std::size_t i) { return ordered ? static_cast<std::size_t>(moves.shared[i]) : 0; };
  struct Saved {
    std::size_t begin, first;  // offset in saved_; first saved position, or length if none
  };
  std::vector<Saved> saved(count, {0, length});
  saved_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const auto source = static_cast<std::size_t>(moves.from[i]);
    if (source == i || kept(i) >= length) continue;
    // Later rows may still need row i. Saves it from the first position that any of them lacks.
    std::size_t first = length;
    for (std::size_t later = i + 1; later < count; ++later)
      if (static_cast<std::size_t>(moves.from[later]) == i) first = std::min(first, kept(later));
    if (first < length) {
      saved[i] = {saved_.size(), first};
      for (std::size_t part = 0; part < parts; ++part)
        saved_.insert(saved_.end(), place(i, part, first), place(i, part, length));
    }
    const bool was_saved = source < i && saved[source].first < length;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::byte* from = place(source, part, kept(i));
      if (was_saved) {
        const auto [begin, at] = saved[source];
        from = saved_.data() + begin + (part * (length - at) + kept(i) - at) * piece;
      }
      std::memcpy(place(i, part, kept(i)), from, (length - kept(i)) * piece);
    }
  }
}

}  // namespace attend::nn
