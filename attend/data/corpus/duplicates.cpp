#include "attend/data/corpus/duplicates.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "attend/base/hashing.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr std::size_t kBands = 4, kRows = 5, kShingle = 3;
constexpr std::size_t kLeastWords = 8;  // of both sides together; a shorter pair has a near-duplicate by chance

// The words of a line as hashes: letters in lower case, every digit the same.
void add_words(std::string_view text, std::vector<std::uint64_t>& words) {
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(hash_text(word));
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) break;
    if (has_property(c, Property::number))
      word.push_back('0');
    else if (has_property(c, Property::letter | Property::mark))
      append_utf8(word, lower_character(c));
    else
      end();
  }
  end();
}

}  // namespace

bool DuplicateFilter::seen_exactly(const PairView& pair) {
  switch (options_.side) {
    case DuplicateSide::pair:
      return !pairs_.add(pair_key(line_key(pair.source), line_key(pair.target)));
    case DuplicateSide::source:
      return !sources_.add(line_key(pair.source));
    case DuplicateSide::target:
      return !targets_.add(line_key(pair.target));
    case DuplicateSide::either: {
      const bool source = !sources_.add(line_key(pair.source)), target = !targets_.add(line_key(pair.target));
      return source || target;
    }
  }
  return false;
}

bool DuplicateFilter::seen_nearly(const PairView& pair) {
  std::vector<std::uint64_t> words;
  add_words(pair.source, words);
  add_words(pair.target, words);
  if (words.size() < kLeastWords) return false;
  std::array<std::uint64_t, kBands * kRows> minima;
  minima.fill(std::numeric_limits<std::uint64_t>::max());
  for (std::size_t i = 0; i + kShingle <= words.size(); ++i) {
    const std::uint64_t shingle = hash_key(hash_key(words[i]) * 31 + hash_key(words[i + 1]) * 7 + words[i + 2]);
    for (std::size_t j = 0; j < minima.size(); ++j)
      minima[j] = std::min(minima[j], fold_multiply(shingle ^ hash_key(j), 0xD6E8FEB86659FD93u));
  }
  bool seen = false;
  for (std::size_t band = 0; band < kBands; ++band) {
    std::uint64_t key = band;
    for (std::size_t row = 0; row < kRows; ++row) key = hash_key(key ^ minima[band * kRows + row]);
    seen = !bands_.add(key) || seen;
  }
  return seen;
}

Duplicate DuplicateFilter::add(const PairView& pair) {
  if (seen_exactly(pair)) return Duplicate::exact;
  return options_.near && seen_nearly(pair) ? Duplicate::near : Duplicate::none;
}

}  // namespace attend::data
