// Small languages to translate, made from a seed: a source line and its one right target. Line i of a set is a pure
// function of (kind, seed, set, i). Whose target is in one set is in no other, so that what is tested was never learned
// by heart: not the date in another spelling either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attend/base/random.h"

namespace attend::data {

enum class TextKind : std::uint8_t { dates, numbers, reverse, grammar, recall, pronouns, coreference };
enum class TextSet : std::uint8_t { train, valid, test };

struct TextPair {
  std::string source, target;
};

// The draws of one line, one after another.
class TextRandom {
 public:
  TextRandom(std::uint64_t seed, std::uint32_t stream, std::uint64_t line)
      : seed_(seed), stream_(stream), next_(line << kDrawBits) {}

  // [0, count)
  int below(int count) {
    const std::uint64_t word = random_word(seed_, stream_, next_++);
    return static_cast<int>((word * static_cast<std::uint64_t>(count)) >> 32);
  }
  bool one_in(int count) { return below(count) == 0; }
  template <std::size_t kCount>
  std::string_view pick(const std::string_view (&words)[kCount]) {
    return words[below(static_cast<int>(kCount))];
  }

 private:
  static constexpr int kDrawBits = 24;  // of a line: at most so many draws, those of pairs of another set included

  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint64_t next_;
};

// One file each, with what the language is.
TextPair make_date(TextRandom& random);
TextPair make_number(TextRandom& random);
TextPair make_reverse(TextRandom& random);
TextPair make_sentence(TextRandom& random);
TextPair make_pronoun(TextRandom& random);
TextPair make_coreference(TextRandom& random);

// The English nouns of a sentence that make_pronoun() made, and the one of them that "it" stands for.
struct PronounParts {
  std::string subject, object, noun;
};
PronounParts pronoun_parts(const std::string& sentence);

inline constexpr std::int64_t kLeastRecallDistance = 8, kMostRecallDistance = 50'000;
TextPair make_recall(TextRandom& random, std::int64_t distance);

struct TextMaker {
  TextKind kind = TextKind::dates;
  std::uint64_t seed = 1;
  std::int64_t distance = 64;  // of recall
};
TextPair make_text(const TextMaker& maker, TextSet set, std::uint64_t line);

// The one set that may hold a text, by its letters and the seed alone.
TextSet set_of(std::uint64_t seed, std::string_view text);

}  // namespace attend::data
