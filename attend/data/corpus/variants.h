// Changed copies of pairs that are rare in parallel text and frequent in the news: headlines, quotations, captions
// without a full stop. Each variant adds a copy of a share of the pairs that it fits; the pairs themselves stay.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "attend/data/corpus/pair_reader.h"

namespace attend::data {

// The share of the fitting pairs that also come changed.
struct VariantShares {
  double title_case = 0, quotes = 0, no_full_stop = 0, quoted = 0;
};

struct PairText {
  std::string source, target;
};

// What decides the copy beside the pair: the same draw gives the same copy.
struct VariantChoice {
  std::string source_language, target_language;
  std::uint32_t draw = 0;
};

struct Variant {
  const char* flag;
  double VariantShares::*share;
  const char* help;      // of the flag
  const char* counted;   // in a report
  std::uint32_t stream;  // of random numbers, its own: one share changes no other variant
  bool (*apply)(const PairView& pair, const VariantChoice& choice, PairText& copy);  // false: it does not fit the pair
};

extern const std::array<Variant, 4> kVariants;

}  // namespace attend::data
