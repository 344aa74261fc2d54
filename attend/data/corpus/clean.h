// One pair of parallel text at a time: put it into a common form, and say what is wrong with it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "attend/data/corpus/language_profile.h"
#include "attend/data/corpus/line_key.h"
#include "attend/data/corpus/pair_reader.h"

namespace attend::data {

enum class PairFault : std::uint8_t {
  none,
  invalid_utf8,
  empty,
  too_short,
  too_long,
  length_ratio,
  identical,
  language,
  test_overlap
};
inline constexpr std::array kPairFaults = {"kept",
                                           "not UTF-8",
                                           "an empty side",
                                           "too few words",
                                           "too many words",
                                           "lengths that differ too much",
                                           "identical sides",
                                           "a side in the wrong language",
                                           "in an excluded test set"};

struct CleanOptions {
  std::int64_t min_words = 1, max_words = 100;
  double max_ratio = 2.5;  // of the lengths, in words and in characters, longer over shorter; 0: any
  bool identical = false;  // keep pairs whose sides are equal
  double language = 0.15;  // drop a side that looks like the other language by this much per trigram; 0: keep all
};

class PairCleaner {
 public:
  PairCleaner(const CleanOptions& options, LanguageProfile profile) : options_(options), profile_(std::move(profile)) {}

  // Lines that no pair may have on either side: those of a test set.
  void exclude(const std::filesystem::path& file);

  // source() and target() are the pair in its common form when there is no fault: Unicode NFC, no control characters,
  // single spaces, no space around it.
  PairFault clean(const PairView& pair);
  const std::string& source() const { return source_; }
  const std::string& target() const { return target_; }

 private:
  PairFault judge_lengths() const;

  CleanOptions options_;
  LanguageProfile profile_;
  KeySet excluded_;
  std::string source_, target_;
};

// text in the common form; it must be well-formed UTF-8.
std::string common_form(std::string_view text);

std::int64_t count_words(std::string_view text);

}  // namespace attend::data
