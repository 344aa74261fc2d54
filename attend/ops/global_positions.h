// Global positions anywhere in a text, a set of its own for each (Beltagy et al. 2020, section 3.1): what
// ops/global_attention.h needs to know of a batch. It is counted on the host, once for all layers, and lies on the
// device as lists, so that a captured step can find the next batch's in the same place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// Where the sequences of a batch lie among the rows of q and of k, as AttentionMask says it in tensors.
struct AttentionLayout {
  struct Sequence {
    std::int64_t query_row = 0, queries = 0;
    std::int64_t key_row = 0, keys = 0;
    std::int64_t visible = 0;  // keys from here on are hidden
  };
  std::vector<Sequence> sequences = {};
  std::int64_t query_rows = 0, key_rows = 0;  // in all
  bool causal = false;

  // Self-attention of [B, T, C], of which key_lengths (or all) are texts; and packed, by B + 1 offsets.
  static AttentionLayout padded(std::int64_t batch, std::int64_t length,
                                std::span<const std::int32_t> key_lengths = {});
  static AttentionLayout packed(std::span<const std::int32_t> offsets);
};

// For a set of each sequence: its keys with copies of the global ones in front, `front` places for all sequences alike.
// Where every set is the first so many keys, the kernels need no copies: `first` says how many, and the first three
// lists are empty.
struct GlobalLists {
  std::vector<std::int32_t> key_rows;     // of each of them, the row of k that stands there
  std::vector<std::int32_t> seen_from;    // AttentionMask's: originals are seen by none, copies from where they stand
  std::vector<std::int32_t> key_offsets;  // [B + 1], of key_rows
  std::vector<std::int32_t> query_offsets, whole_offsets;  // [B + 1]: of the rows of q and of k
  std::vector<std::int32_t> marked_rows;     // rows of q that are global; filled up to front · B with row 0
  std::vector<std::int32_t> marked_offsets;  // [B + 1], of marked_rows
  std::vector<std::int32_t> marked_from;     // causal: seen_from of all keys for the queries in marked_rows
  std::vector<std::int32_t>
      merged;  // all rows of q; global ones are counted on behind them, in the order of marked_rows
  std::int64_t front = 0, longest_queries = 0, longest_keys = 0, longest_whole = 0;
  std::int64_t first = 0;
  bool causal = false;

  // All lists, in one order.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& v) {
    v(self.key_rows), v(self.seen_from), v(self.key_offsets), v(self.query_offsets), v(self.whole_offsets);
    v(self.marked_rows), v(self.marked_offsets), v(self.marked_from), v(self.merged);
  }
};

// What has the same layout and the same front has lists of the same sizes, if all have copies. Without sets that name a
// key there are no lists, and front is 0.
struct GlobalListOptions {
  std::int64_t multiple = 1;   // front is rounded up to one
  bool always_copies = false;  // even of the first keys
};
// sets: of each sequence the keys that are global, in any order.
GlobalLists global_lists(const AttentionLayout& layout, std::span<const std::vector<std::int32_t>> sets,
                         const GlobalListOptions& options = {});

// The same on a device.
struct GlobalPositions {
  Tensor key_rows, seen_from, key_offsets, query_offsets, whole_offsets;  // undefined where the list is empty
  Tensor marked_rows, marked_offsets, marked_from, merged;
  std::int64_t front = 0, longest_queries = 0, longest_keys = 0, longest_whole = 0;
  std::int64_t first = 0;
  bool causal = false;

  GlobalPositions() = default;
  GlobalPositions(Backend& backend, const GlobalLists& lists);
  // place(list) says where a list lies; called in the order of GlobalLists::visit.
  template <class Place>
  GlobalPositions(const GlobalLists& lists, Place&& place)
      : front(lists.front),
        longest_queries(lists.longest_queries),
        longest_keys(lists.longest_keys),
        longest_whole(lists.longest_whole),
        first(lists.first),
        causal(lists.causal) {
    Tensor* const tensors[] = {&key_rows,    &seen_from,      &key_offsets, &query_offsets, &whole_offsets,
                               &marked_rows, &marked_offsets, &marked_from, &merged};
    std::size_t next = 0;
    GlobalLists::visit(lists, [&](const std::vector<std::int32_t>& list) { *tensors[next++] = place(list); });
  }
};

}  // namespace attend::ops
