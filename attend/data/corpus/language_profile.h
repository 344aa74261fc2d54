// Which of two languages a line is in, by its letter trigrams (Cavnar and Trenkle 1994, "N-Gram-Based Text
// Categorization"). The two profiles are counted from the corpus itself: most of its lines are in the right language.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attend/data/corpus/pair_reader.h"

namespace attend::data {

class LanguageProfile {
 public:
  LanguageProfile() = default;
  // From the first pairs of the corpus.
  explicit LanguageProfile(PairReader corpus, std::int64_t pairs = 500'000);

  // Mean log-likelihood ratio per trigram, source language over target language: positive for a line that looks like
  // the source side. 0 for a line with too few letters to tell.
  double source_over_target(std::string_view text) const;

 private:
  std::vector<float> ratios_;  // by trigram, hashed
};

}  // namespace attend::data
