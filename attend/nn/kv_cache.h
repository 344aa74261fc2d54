// The keys and values of positions already computed, so that decoding one more token costs one more token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// Where the positions x of one forward belong in the caches, in device memory, so that a captured step stays valid.
// i32.
struct CachePlaces {
  // [rows], the newest position counted: x is one more position of each row, which reads all that its row has.
  // Undefined: x is all there is, and reads itself.
  Tensor lengths = {};
  // One for each position of x: its place among all rows · capacity positions. Undefined: x [B, T, ..] are the next
  // positions of all rows, group by group.
  Tensor slots = {};
};

// One layer's cache: [rows, capacity, 2·C], keys in the first C columns, values in the rest. It grows by doubling, so
// appending never copies more than it has written.
class KvCache {
 public:
  KvCache(Backend& backend, std::int64_t rows, std::int64_t width, DType dtype);

  // Room for so many positions; what is written stays. True when the memory moved.
  bool reserve(std::int64_t positions);
  // keys_values [.., 2·C] (rows may have gaps) go to their places.
  void write(const Tensor& keys_values, const CachePlaces& places);
  // To n slots [n], which are within the room there is. length() does not follow by itself: a replayed step runs no
  // code of ours. advance() says that it was done.
  void put(const Tensor& keys_values, const Tensor& slots) const;
  void advance(std::int64_t positions) { length_ += positions; }
  // All rows · capacity positions, [.., 2·C]: what the slots count.
  Tensor positions() const { return memory_.reshape({-1, 2 * width_}); }
  // keys_values [B, T, 2·C] (rows may have gaps) become the next T positions; B divides rows, and sequence b goes to
  // all rows of group b.
  void append_sequences(const Tensor& keys_values);
  // As many rows as before, or fewer. True when the memory moved, or there are fewer.
  bool reorder(const RowMoves& moves);

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return memory_.dim(1); }
  // From now on keys() and values() show the first so many rows; what the others have stays.
  void show(std::int64_t rows) { rows_ = rows; }
  // [rows, capacity, C] windows: attention must be told length() as key_lengths.
  Tensor keys() const { return memory_.slice_first(0, rows_).columns(0, width_); }
  Tensor values() const { return memory_.slice_first(0, rows_).columns(width_, width_); }

 private:
  void move_in_place(const RowMoves& moves);

  std::int64_t rows_, width_, length_ = 0;
  Tensor memory_;
  std::vector<std::byte> saved_;  // rows that are overwritten before they are read
};

// What one layer keeps of a forward, and goes on from.
struct LayerCache {
  KvCache* cache = nullptr;  // null: nothing is kept
  CachePlaces places = {};

  bool goes_on() const { return places.lengths.defined(); }
};

}  // namespace attend::nn
