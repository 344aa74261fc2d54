// Held-out sets of parallel text: which pairs are for validation and which for the test. No line of a held-out set is
// on either side of a training pair, apart from case, space and punctuation.
#pragma once

#include <cstdint>

#include "attend/data/corpus/line_key.h"
#include "attend/data/corpus/pair_reader.h"

namespace attend::data {

struct SplitOptions {
  std::int64_t valid = 2000, test = 2000;  // pairs
  std::uint64_t seed = 1;
};

enum class SplitPart : std::uint8_t { train, valid, test, dropped };

class Split {
 public:
  // Reads the corpus once. A pair's place depends on the seed and its text alone, so the same sentence is drawn from a
  // corpus that has grown. Throws Error when there are too few different pairs.
  Split(PairReader corpus, const SplitOptions& options);

  // dropped: a training pair that shares a line with a held-out set, or a held-out pair that was given before.
  SplitPart part_of(const PairView& pair);

 private:
  KeySet valid_, test_;  // pairs
  KeySet lines_;         // of both sets
  KeySet given_;
};

}  // namespace attend::data
