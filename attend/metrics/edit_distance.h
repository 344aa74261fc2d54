// The words to insert, delete and substitute until a hypothesis is its reference, within a band around the diagonal:
// the distance that TER needs thousands of times per sentence, for hypotheses that differ by one moved block.
//   rows 0 .. hypothesis words, columns 0 .. reference words; row i is a band of columns [begin, end)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/metrics/ngrams.h"

namespace attend::metrics {

// How each word of a reference stands in the hypothesis.
struct Alignment {
  std::vector<std::int32_t> hypothesis_of;  // of each reference word: the hypothesis word at or before it, -1 for none
  std::vector<std::uint8_t> hypothesis_wrong, reference_wrong;  // a word that is not matched
};

class EditDistance {
 public:
  // All hypotheses that follow have this many words.
  EditDistance(std::span<const std::uint32_t> reference, std::size_t hypothesis_words);

  // Makes hypothesis the one that others are compared with. Words before first must be as they were.
  void set(std::span<const std::uint32_t> hypothesis, std::size_t first = 0);
  int distance() const { return distance_; }
  // Of the best edits; where several are best, a match or substitution goes before a deletion before an insertion.
  Alignment align() const;

  // The distance of changed, which differs from the hypothesis only in words [first, last): exact up to limit, anything
  // above it otherwise. Rows before first are those of the hypothesis; behind last, the least and the largest
  // difference to its rows bound the difference in distance, so most rows need not be computed.
  int distance_of(std::span<const std::uint32_t> changed, std::size_t first, std::size_t last, int limit);

 private:
  struct Row {
    std::int64_t begin, end;
    std::size_t at;  // where its cells begin in cells_
  };
  struct Cells {
    const std::int32_t* data;
    std::int64_t begin, end;
    std::int32_t operator[](std::int64_t column) const;
  };
  Cells cells(std::size_t row) const { return {cells_.data() + rows_[row].at, rows_[row].begin, rows_[row].end}; }
  void fill(std::size_t row, std::uint32_t word, const Cells& above, std::int32_t* out) const;

  std::span<const std::uint32_t> reference_;
  std::vector<std::uint32_t> hypothesis_;
  std::vector<Row> rows_;
  std::vector<std::int32_t> cells_, scratch_[2];
  int distance_ = 0;
};

}  // namespace attend::metrics
