// Builds the lists of global positions on the host.
#include "attend/ops/global_positions.h"

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::ops {

namespace {

using Sequence = AttentionLayout::Sequence;
using Set = std::vector<std::int32_t>;

std::int32_t narrow(std::int64_t n) { return static_cast<std::int32_t>(n); }

// Sorts each set and removes duplicates, and checks its range.
std::vector<Set> in_order(const AttentionLayout& layout, std::span<const Set> sets) {
  check(sets.size() == layout.sequences.size(), "global positions: {} sets for {} sequences", sets.size(),
        layout.sequences.size());
  std::vector<Set> ordered(sets.begin(), sets.end());
  for (std::size_t b = 0; b < ordered.size(); ++b) {
    Set& set = ordered[b];
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
    const std::int64_t keys = layout.sequences[b].keys;
    check(set.empty() || (set.front() >= 0 && set.back() < keys),
          "global positions: sequence {} has {} tokens, so they must be 0 to {}, not {}", b, keys, keys - 1,
          set.empty()       ? 0
          : set.front() < 0 ? set.front()
                            : set.back());
  }
  return ordered;
}

// True if each set is the first n keys, or all keys of a shorter sequence. Sequences with more queries than keys are
// excluded: a query before the first key would count as one of the first n.
bool first_keys(const AttentionLayout& layout, std::span<const Set> ordered, std::int64_t n) {
  for (std::size_t b = 0; b < ordered.size(); ++b) {
    const Sequence& sequence = layout.sequences[b];
    const std::int64_t wanted = std::min(n, sequence.keys);
    if (static_cast<std::int64_t>(ordered[b].size()) != wanted || sequence.queries > sequence.keys) return false;
    if (wanted > 0 && ordered[b].back() != wanted - 1) return false;
  }
  return true;
}

// Adds copies of the global keys, padding of the front, then all keys.
void add_keys(const Sequence& sequence, const Set& set, GlobalLists& lists) {
  const std::int64_t place = sequence.keys - sequence.queries;  // query t has the position of key t + place
  const auto add = [&](std::int64_t row, std::int64_t seen_from) {
    lists.key_rows.push_back(narrow(row)), lists.seen_from.push_back(narrow(seen_from));
  };
  for (const std::int64_t key : set)
    add(sequence.key_row + key, key >= sequence.visible ? kSeenByNone
                                : lists.causal          ? std::max<std::int64_t>(key - place, 0)
                                                        : 0);
  // Queries before the first key must not share positions with the copies, because the kernels would treat them as
  // global.
  const std::int64_t filling = lists.front - static_cast<std::int64_t>(set.size()) + std::max<std::int64_t>(-place, 0);
  for (std::int64_t i = 0; i < filling; ++i) add(0, kSeenByNone);
  std::size_t next = 0;
  for (std::int64_t key = 0; key < sequence.keys; ++key) {
    const bool copied = next < set.size() && set[next] == key;
    next += copied;
    add(sequence.key_row + key, copied || key >= sequence.visible ? kSeenByNone : 0);
  }
  lists.longest_keys =
      std::max(lists.longest_keys, static_cast<std::int64_t>(lists.key_rows.size()) - lists.key_offsets.back());
  lists.key_offsets.push_back(narrow(static_cast<std::int64_t>(lists.key_rows.size())));
}

// Adds the queries at the positions of global keys.
void add_queries(const Sequence& sequence, const Set& set, GlobalLists& lists) {
  const std::int64_t place = sequence.keys - sequence.queries;
  Set kept;
  for (const std::int32_t key : set) {
    if (key < place) continue;
    const std::int64_t row = sequence.query_row + key - place;
    lists.merged[static_cast<std::size_t>(row)] =
        narrow(static_cast<std::int64_t>(lists.merged.size() + lists.marked_rows.size()));
    lists.marked_rows.push_back(narrow(row));
    kept.push_back(key);
  }
  lists.marked_offsets.push_back(narrow(static_cast<std::int64_t>(lists.marked_rows.size())));
  // The j-th global query attends to key s if at most j global queries come before s.
  for (std::int64_t key = 0; lists.causal && key < sequence.keys; ++key)
    lists.marked_from[static_cast<std::size_t>(sequence.key_row + key)] =
        narrow(std::ranges::lower_bound(kept, key) - kept.begin());
}

}  // namespace

AttentionLayout AttentionLayout::padded(std::int64_t batch, std::int64_t length,
                                        std::span<const std::int32_t> key_lengths) {
  AttentionLayout layout{.query_rows = batch * length, .key_rows = batch * length};
  for (std::int64_t b = 0; b < batch; ++b)
    layout.sequences.push_back({b * length, length, b * length, length,
                                key_lengths.empty() ? length : key_lengths[static_cast<std::size_t>(b)]});
  return layout;
}

AttentionLayout AttentionLayout::packed(std::span<const std::int32_t> offsets) {
  AttentionLayout layout;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const std::int64_t begin = offsets[b], length = offsets[b + 1] - begin;
    layout.sequences.push_back({begin, length, begin, length, length});
  }
  layout.query_rows = layout.key_rows = offsets.empty() ? 0 : offsets.back();
  return layout;
}

GlobalLists global_lists(const AttentionLayout& layout, std::span<const std::vector<std::int32_t>> sets,
                         const GlobalListOptions& options) {
  const std::vector<Set> ordered = in_order(layout, sets);
  GlobalLists lists;
  lists.causal = layout.causal;
  std::int64_t rows = 0;
  for (std::size_t b = 0; b < ordered.size(); ++b) {
    const Sequence& sequence = layout.sequences[b];
    lists.front = std::max(lists.front, static_cast<std::int64_t>(ordered[b].size()));
    lists.longest_queries = std::max(lists.longest_queries, sequence.queries);
    lists.longest_whole = std::max(lists.longest_whole, sequence.keys);
    rows += sequence.keys + std::max<std::int64_t>(sequence.queries - sequence.keys, 0);
  }
  if (lists.front == 0) return lists;
  if (!options.always_copies && first_keys(layout, ordered, lists.front)) lists.first = lists.front;
  lists.front = (lists.front + options.multiple - 1) / options.multiple * options.multiple;
  const auto batch = static_cast<std::int64_t>(ordered.size());
  check(rows + batch * lists.front <= 0x7fffffff && layout.query_rows + batch * lists.front <= 0x7fffffff,
        "global positions: {} sequences of {} tokens with {} global ones are too many", batch, lists.longest_whole,
        lists.front);
  lists.merged.resize(static_cast<std::size_t>(layout.query_rows));
  std::iota(lists.merged.begin(), lists.merged.end(), 0);
  if (lists.causal) lists.marked_from.resize(static_cast<std::size_t>(layout.key_rows), kSeenByNone);
  lists.marked_offsets = {0};
  if (lists.first == 0) lists.key_offsets = {0};
  for (std::size_t b = 0; b < ordered.size(); ++b) {
    const Sequence& sequence = layout.sequences[b];
    if (lists.first == 0) add_keys(sequence, ordered[b], lists);
    add_queries(sequence, ordered[b], lists);
    lists.query_offsets.push_back(narrow(sequence.query_row)), lists.whole_offsets.push_back(narrow(sequence.key_row));
  }
  lists.query_offsets.push_back(lists.query_offsets.back() + narrow(layout.sequences.back().queries));
  lists.whole_offsets.push_back(lists.whole_offsets.back() + narrow(layout.sequences.back().keys));
  lists.marked_rows.resize(static_cast<std::size_t>(batch * lists.front), 0);
  return lists;
}

GlobalPositions::GlobalPositions(Backend& backend, const GlobalLists& lists)
    : GlobalPositions(lists, [&](const std::vector<std::int32_t>& list) {
        if (list.empty()) return Tensor();
        Tensor tensor = make_tensor(backend, {static_cast<std::int64_t>(list.size())}, DType::i32);
        upload(tensor, list);
        return tensor;
      }) {}

}  // namespace attend::ops
