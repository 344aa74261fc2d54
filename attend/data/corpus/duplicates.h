// Pairs that were there before, in a stream. Near-duplicates are found by MinHash (Broder 1997, "On the Resemblance
// and Containment of Documents"): pairs that share most of their word trigrams agree in one of four bands of five
// minima, with probability 0.97 if they share nine tenths and 0.12 if they share half.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attend/data/corpus/line_key.h"
#include "attend/data/corpus/pair_reader.h"

namespace attend::data {

enum class DuplicateSide : std::uint8_t { pair, source, target, either };

struct DuplicateOptions {
  DuplicateSide side = DuplicateSide::pair;  // what must be equal, apart from case, space and punctuation
  bool near = true;                          // also drop pairs that differ in a few words or in their numbers
};

enum class Duplicate : std::uint8_t { none, exact, near };

class DuplicateFilter {
 public:
  explicit DuplicateFilter(DuplicateOptions options = {}) : options_(options) {}

  // What the pair is to all pairs before it. Text must be well-formed UTF-8.
  Duplicate add(const PairView& pair);

 private:
  bool seen_exactly(const PairView& pair);
  bool seen_nearly(const PairView& pair);

  DuplicateOptions options_;
  KeySet pairs_, sources_, targets_, bands_;
};

}  // namespace attend::data
