#include "attend/data/corpus/language_profile.h"

#include <cmath>
#include <utility>

#include "attend/base/hashing.h"
#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr std::size_t kBuckets = std::size_t{1} << 18;
constexpr std::int64_t kLeastTrigrams = 15;  // fewer decide nothing: names and numbers are in any language
constexpr double kUnseen = 0.5;              // added to every count

// Calls f(bucket) for each trigram of lower-case letters; a word begins and ends with a space.
template <class F>
void for_each_trigram(std::string_view text, F f) {
  char32_t before = U' ', last = U' ';
  const auto add = [&](char32_t c) {
    if (c == U' ' && last == U' ') return;
    f(hash_key(std::uint64_t{before} << 42 ^ std::uint64_t{last} << 21 ^ c) % kBuckets);
    before = std::exchange(last, c);
  };
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) return;
    add(has_property(c, Property::letter | Property::mark) ? lower_character(c) : U' ');
  }
  add(U' ');
}

}  // namespace

LanguageProfile::LanguageProfile(PairReader corpus, std::int64_t pairs) {
  std::vector<double> source(kBuckets, kUnseen), target(kBuckets, kUnseen);
  double sources = kUnseen * kBuckets, targets = sources;
  for (PairView pair; corpus.count() < pairs && corpus.next(pair);) {
    for_each_trigram(pair.source, [&](std::size_t bucket) { ++source[bucket], ++sources; });
    for_each_trigram(pair.target, [&](std::size_t bucket) { ++target[bucket], ++targets; });
  }
  ratios_.resize(kBuckets);
  for (std::size_t i = 0; i < kBuckets; ++i)
    ratios_[i] = static_cast<float>(std::log(source[i] / sources) - std::log(target[i] / targets));
}

double LanguageProfile::source_over_target(std::string_view text) const {
  double sum = 0;
  std::int64_t count = 0;
  if (!ratios_.empty()) for_each_trigram(text, [&](std::size_t bucket) { sum += ratios_[bucket], ++count; });
  return count < kLeastTrigrams ? 0 : sum / static_cast<double>(count);
}

}  // namespace attend::data
