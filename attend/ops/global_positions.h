// Lists of global positions for ops/global_attention.h (Beltagy et al. 2020, section 3.1), one set per text. They are
// computed on the host once for all layers, and lie on the device, so that a captured step finds the lists of the next
// batch in the same place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// Where the sequences of a batch lie among the rows of q and of k; AttentionMask says the same with tensors.
struct AttentionLayout {
  struct Sequence {
    std::int64_t query_row = 0, queries = 0;
    std::int64_t key_row = 0, keys = 0;
    std::int64_t visible = 0;  // later keys are hidden
  };
  std::vector<Sequence> sequences = {};
  std::int64_t query_rows = 0, key_rows = 0;  // total
  bool causal = false;

  // Layouts of self-attention: padded [B, T, C] with key_lengths (all T if empty), and packed by B + 1 offsets.
  static AttentionLayout padded(std::int64_t batch, std::int64_t length,
                                std::span<const std::int32_t> key_lengths = {});
  static AttentionLayout packed(std::span<const std::int32_t> offsets);
};

// Per sequence, its keys with copies of the global ones in front; the front has `front` places in every sequence. If
// every set is the first `first` keys, the kernels need no copies, and the first three lists are empty.
struct GlobalLists {
  std::vector<std::int32_t> key_rows;                      // for each place, the row of k that is copied there
  std::vector<std::int32_t> seen_from;                     // as in AttentionMask: hides originals, shows copies
  std::vector<std::int32_t> key_offsets;                   // [B + 1]: where sequences begin in key_rows
  std::vector<std::int32_t> query_offsets, whole_offsets;  // [B + 1]: where sequences begin in q and in k
  std::vector<std::int32_t> marked_rows;                   // global rows of q; padded to front · B with row 0
  std::vector<std::int32_t> marked_offsets;                // [B + 1]: where sequences begin in marked_rows
  std::vector<std::int32_t> marked_from;                   // causal only: seen_from of all keys, for marked_rows
  // For each row of q the row of the result: itself, or for a global query its index in marked_rows, counted after all
  // rows of q.
  std::vector<std::int32_t> merged;
  std::int64_t front = 0, longest_queries = 0, longest_keys = 0, longest_whole = 0;
  std::int64_t first = 0;
  bool causal = false;

  // Visits all lists in a fixed order.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& v) {
    v(self.key_rows), v(self.seen_from), v(self.key_offsets), v(self.query_offsets), v(self.whole_offsets);
    v(self.marked_rows), v(self.marked_offsets), v(self.marked_from), v(self.merged);
  }
};

// Equal layout and front give lists of equal sizes, if all sets are copied. If no set names a key, there are no lists
// and front is 0.
struct GlobalListOptions {
  std::int64_t multiple = 1;   // front is rounded up to a multiple of this
  bool always_copies = false;  // copies even sets that are the first keys
};
// sets holds the global keys of each sequence, in any order.
GlobalLists global_lists(const AttentionLayout& layout, std::span<const std::vector<std::int32_t>> sets,
                         const GlobalListOptions& options = {});

// The lists on a device.
struct GlobalPositions {
  Tensor key_rows, seen_from, key_offsets, query_offsets, whole_offsets;  // undefined if the list is empty
  Tensor marked_rows, marked_offsets, marked_from, merged;
  std::int64_t front = 0, longest_queries = 0, longest_keys = 0, longest_whole = 0;
  std::int64_t first = 0;
  bool causal = false;

  GlobalPositions() = default;
  GlobalPositions(Backend& backend, const GlobalLists& lists);
  // place(list) returns the tensor of a list; it is called in the order of GlobalLists::visit.
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
