// The keys and values of positions already computed, so that decoding one more token costs one more token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attend/tensor/attention_window.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

// Row i goes on from what row from[i] had. Made once a step, applied to the cache of every layer.
struct RowMoves {
  // shared[i]: the first so many positions of rows i and from[i] are the same and need not move; 0 where empty.
  RowMoves(Backend& backend, std::span<const std::int32_t> from, std::vector<std::int64_t> shared = {});

  std::vector<std::int32_t> from;
  std::vector<std::int64_t> shared;
  Tensor on_device;  // from; undefined where the host can read tensors
};

// Which positions the cache of a layer with a window keeps: the globals, and as many of the last as it looks back to.
// Each new one takes the place of the oldest. Attention does not care for their order.
struct CacheRing {
  std::int64_t globals = 0, capacity = 0;  // capacity 0: all are kept

  CacheRing() = default;
  // None where a text of `longest` positions fits anyway.
  CacheRing(const AttentionWindow& window, std::int64_t longest);
  bool operator==(const CacheRing&) const = default;
  bool rolls() const { return capacity > 0; }
  std::int64_t place(std::int64_t position) const {
    return !rolls() || position < capacity ? position : globals + (position - globals) % (capacity - globals);
  }
  // Whether it outlives all of the first `length` positions.
  bool keeps(std::int64_t position, std::int64_t length) const {
    return !rolls() || position < globals || position >= length - (capacity - globals);
  }
  // Room for the first so many positions.
  std::int64_t room(std::int64_t positions) const { return rolls() && positions > capacity ? capacity : positions; }
};

// Where the positions x of one forward belong in the caches, in device memory, so that a captured step stays valid.
// i32.
struct CachePlaces {
  // [rows], the newest position counted: x is one more position of each row, which reads all that its row has.
  // Undefined: x is all there is, and reads itself.
  Tensor lengths = {};
  // One for each position of x: its place among all rows · capacity positions. Undefined: x [B, T, ..] are the next
  // positions of all rows, group by group.
  Tensor slots = {};
  // The same for caches that roll, by their KvCache::ring_number(); -1: it is not kept.
  std::vector<Tensor> ring_slots = {};
};

// What a position takes of a cache.
struct CacheForm {
  std::int64_t width = 0, heads = 1;  // heads divide the width, C
  DType dtype = DType::f32;
};

// One layer's cache. On a GPU it is [rows, capacity, 2·C], keys in the first C columns, values in the rest. On the host
// it lies by heads, [rows, 2·H, capacity, D], the keys of every head and then their values: what one head reads for
// the next token is two runs of memory, where rows of 2·C have a page for each of its keys. In both a position is cut
// into `parts` pieces. It grows by doubling, so appending never copies more than it has written.
class KvCache {
 public:
  // ring_number: which of the CachePlaces' ring_slots are of this ring.
  KvCache(Backend& backend, std::int64_t rows, const CacheForm& form, const CacheRing& ring = {},
          std::size_t ring_number = 0);

  // Room for so many positions; what is written stays. True when the memory moved.
  bool reserve(std::int64_t positions);
  // keys_values [.., 2·C] (rows may have gaps) go to their places.
  void write(const Tensor& keys_values, const CachePlaces& places);
  // To n slots [n], which are within the room there is. length() does not follow by itself: a replayed step runs no
  // code of ours. advance() says that it was done.
  void put(const Tensor& keys_values, const Tensor& slots) const;
  void advance(std::int64_t positions) { length_ += positions; }
  // All rows · capacity positions, which the slots count: [.., 2·C], or as they lie by heads.
  Tensor positions() const { return by_heads() ? memory_ : memory_.reshape({-1, 2 * form_.width}); }
  // keys_values [B, T, 2·C] (rows may have gaps) become the next T positions; B divides rows, and sequence b goes to
  // all rows of group b.
  void append_sequences(const Tensor& keys_values);
  // As many rows as before, or fewer. True when the memory moved, or there are fewer.
  bool reorder(const RowMoves& moves);

  const CacheRing& ring() const { return ring_; }
  const Tensor& slots_in(const CachePlaces& places) const {
    return ring_.rolls() ? places.ring_slots.at(ring_number_) : places.slots;
  }

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return memory_.dim(2); }
  bool by_heads() const { return memory_.dim(1) > 1; }
  // From now on keys() and values() show the first so many rows; what the others have stays.
  void show(std::int64_t rows) { rows_ = rows; }
  // [rows, capacity, C] windows, or by heads the whole both times: attention must be told length() as key_lengths; one
  // that rolls has at most its capacity.
  Tensor keys() const { return window(0); }
  Tensor values() const { return window(form_.width); }

 private:
  void move_in_place(const RowMoves& moves);
  Tensor window(std::int64_t column) const {
    const Tensor shown = memory_.slice_first(0, rows_);
    return by_heads() ? shown : shown.reshape({rows_, capacity(), 2 * form_.width}).columns(column, form_.width);
  }

  std::int64_t rows_, length_ = 0;
  CacheForm form_;
  CacheRing ring_;
  std::size_t ring_number_;
  Tensor memory_;                 // [rows, parts, capacity, 2·C / parts]
  std::vector<std::byte> saved_;  // rows that are overwritten before they are read
};

// What one layer keeps of a forward, and goes on from.
struct LayerCache {
  KvCache* cache = nullptr;  // null: nothing is kept
  CachePlaces places = {};

  bool goes_on() const { return places.lengths.defined(); }
};

}  // namespace attend::nn
