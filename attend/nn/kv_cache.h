// Cached keys and values of positions already computed, so that decoding a token costs one position, not the whole
// text.
//   per layer, on a GPU: [rows, capacity, 2·C];   on the host, by heads: [rows, 2·H, capacity, D]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attend/tensor/attention_window.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

// Row i continues from the cache of row from[i]. Made once per step, and applied to the cache of every layer.
struct RowMoves {
  // The first shared[i] positions of rows i and from[i] are equal and need not move; an empty list means 0.
  RowMoves(Backend& backend, std::span<const std::int32_t> from, std::vector<std::int64_t> shared = {});

  std::vector<std::int32_t> from;
  std::vector<std::int64_t> shared;
  Tensor on_device;  // `from` on the device; undefined on the host
};

// The positions that the cache of a layer with a window keeps: the global ones, and the last ones inside the window. A
// new position replaces the oldest. Attention does not depend on their order.
struct CacheRing {
  std::int64_t globals = 0, capacity = 0;  // a capacity of 0 means that all are kept

  CacheRing() = default;
  // The ring does not roll if a text of `longest` positions fits.
  CacheRing(const AttentionWindow& window, std::int64_t longest);
  bool operator==(const CacheRing&) const = default;
  bool rolls() const { return capacity > 0; }
  std::int64_t place(std::int64_t position) const {
    return !rolls() || position < capacity ? position : globals + (position - globals) % (capacity - globals);
  }
  // True if this position is still kept after `length` positions.
  bool keeps(std::int64_t position, std::int64_t length) const {
    return !rolls() || position < globals || position >= length - (capacity - globals);
  }
  // Capacity needed for this many positions.
  std::int64_t room(std::int64_t positions) const { return rolls() && positions > capacity ? capacity : positions; }
};

// Where the positions of one forward belong in the caches. All are i32 in device memory, so that a captured step stays
// valid.
struct CachePlaces {
  // [rows]: lengths including the newest position. Then x is one more position of each row and attends to all of its
  // row. Undefined means that x is the whole text and attends to itself.
  Tensor lengths = {};
  // One per position of x: its index among all rows · capacity positions. Undefined means that x [B, T, ..] are the
  // next positions of all rows, group by group.
  Tensor slots = {};
  // The same for caches that roll, indexed by KvCache::ring_number(); -1 means that the position is not kept.
  std::vector<Tensor> ring_slots = {};
  // On a GPU, in a search: i32 [rows, capacity], the row that holds each position of a row (RowTable). Undefined means
  // that each row holds its own.
  Tensor rows = {};
  // On a GPU, if the rows are positions of one text in one row of the cache: 0, 1, .. rows, and as many zeros. They
  // make every position a packed sequence whose keys begin at the same place (AttentionMask).
  Tensor query_offsets = {}, key_offsets = {};
};

// The size of one position in a cache.
struct CacheForm {
  std::int64_t width = 0, heads = 1;  // heads divide the width, C
  DType dtype = DType::f32;
  bool cleared = false;  // new memory is filled with 0, for attention that multiplies what lies behind a row by 0
};

// The cache of one layer. On a GPU it is [rows, capacity, 2·C], keys in the first C columns and values in the rest. On
// the host it is stored by heads, [rows, 2·H, capacity, D], all keys and then all values. There one head reads two
// contiguous runs per token; rows of 2·C would touch one page per key. In both forms a position consists of `parts`
// pieces. The cache grows by doubling, so appending never copies more than was written.
class KvCache {
 public:
  // ring_number is the index of this ring in CachePlaces::ring_slots.
  KvCache(Backend& backend, std::int64_t rows, const CacheForm& form, const CacheRing& ring = {},
          std::size_t ring_number = 0);

  // Makes room for this many positions and keeps the contents. True if the memory moved.
  bool reserve(std::int64_t positions);
  // Stores keys_values [.., 2·C] at their places; rows may have gaps.
  void write(const Tensor& keys_values, const CachePlaces& places);
  // Stores n positions at slots [n], which must lie within the capacity. length() does not change, because a replayed
  // step runs no host code; call advance() afterwards.
  void put(const Tensor& keys_values, const Tensor& slots) const;
  void advance(std::int64_t positions) { length_ += positions; }
  // All rows · capacity positions, as slots count them: [rows · capacity, 2·C], or the memory by heads.
  Tensor positions() const { return by_heads() ? memory_ : memory_.reshape({-1, 2 * form_.width}); }
  // Appends keys_values [B, T, 2·C] as the next T positions; rows may have gaps. B divides the rows, and sequence b
  // goes to all rows of group b.
  void append_sequences(const Tensor& keys_values);
  // Reorders rows, and may drop some. True if the memory moved or there are fewer rows.
  bool reorder(const RowMoves& moves);
  // On a GPU: `rows` rows whose positions are copied from these places, i32 [rows · capacity].
  void gather(const Tensor& places, std::int64_t rows);

  const CacheRing& ring() const { return ring_; }
  const Tensor& slots_in(const CachePlaces& places) const {
    return ring_.rolls() ? places.ring_slots.at(ring_number_) : places.slots;
  }

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return memory_.dim(2); }
  bool by_heads() const { return memory_.dim(1) > 1; }
  // Limits keys() and values() to `rows` rows from `first` on. The others keep their contents.
  void show(std::int64_t rows, std::int64_t first = 0) { rows_ = rows, first_row_ = first; }
  // The first positions of row `to` become those of row `from`. A cache that rolls cannot do this.
  void copy_row(std::int64_t from, std::int64_t to, std::int64_t positions) const;
  // Views [rows, capacity, C], or the whole cache by heads in both. Attention needs length() as key_lengths; a cache
  // that rolls holds at most its capacity.
  Tensor keys() const { return window(0); }
  Tensor values() const { return window(form_.width); }

 private:
  Tensor new_memory(Backend& backend, std::int64_t parts, std::int64_t positions) const;
  void move_in_place(const RowMoves& moves);
  Tensor window(std::int64_t column) const {
    const Tensor shown = memory_.slice_first(first_row_, rows_);
    return by_heads() ? shown : shown.reshape({rows_, capacity(), 2 * form_.width}).columns(column, form_.width);
  }

  std::int64_t rows_, first_row_ = 0, length_ = 0;
  CacheForm form_;
  CacheRing ring_;
  std::size_t ring_number_;
  Tensor memory_;                 // [rows, parts, capacity, 2·C / parts]
  std::vector<std::byte> saved_;  // copies of rows that are overwritten before they are read
};

// The cache of one layer, as a forward writes or continues it.
struct LayerCache {
  KvCache* cache = nullptr;  // null if nothing is kept
  CachePlaces places = {};

  bool goes_on() const { return places.lengths.defined(); }
};

}  // namespace attend::nn
