#include "attend/data/synthetic/text_makers.h"

#include "attend/base/error.h"

namespace attend::data {

namespace {

constexpr int kShares = 20;               // one of them is for validation, one for the test
constexpr std::size_t kLeastUnseen = 3;   // characters of a target: "7" has to be seen to be known
constexpr std::uint32_t kSplit = 0xffff;  // the stream that no line is drawn from

// FNV-1a: which set a target is in depends on its letters and the seed alone.
std::uint64_t letters_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return hash;
}

TextPair make_any(const TextMaker& maker, TextRandom& random) {
  switch (maker.kind) {
    case TextKind::dates:
      return make_date(random);
    case TextKind::numbers:
      return make_number(random);
    case TextKind::reverse:
      return make_reverse(random);
    case TextKind::grammar:
      return make_sentence(random);
    case TextKind::recall:
      return make_recall(random, maker.distance);
    case TextKind::pronouns:
      return make_pronoun(random);
    case TextKind::coreference:
      return make_coreference(random);
  }
  fail("make-data: there is no such text");
}

}  // namespace

TextSet set_of(std::uint64_t seed, std::string_view target) {
  if (target.size() < kLeastUnseen) return TextSet::train;
  const std::uint32_t share = random_word(seed, kSplit, letters_hash(target)) % kShares;
  return share == 0 ? TextSet::valid : share == 1 ? TextSet::test : TextSet::train;
}

TextPair make_text(const TextMaker& maker, TextSet set, std::uint64_t line) {
  TextRandom random(maker.seed, static_cast<std::uint32_t>(maker.kind) * 4 + static_cast<std::uint32_t>(set), line);
  TextPair pair = make_any(maker, random);
  while (set_of(maker.seed, pair.target) != set) pair = make_any(maker, random);
  return pair;
}

}  // namespace attend::data
