#include "attend/data/corpus/clean.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/steps/unicode_normalization.h"

namespace attend::data {

namespace {

// Characters that no reader sees: controls, soft hyphens, zero-width spaces and joiners, marks of direction.
bool invisible(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF;
}

// Longer over shorter. Three are added to both, so that a short answer may be twice as long as another.
bool within_ratio(std::size_t one, std::size_t other, double most) {
  const auto [shorter, longer] = std::minmax(one, other);
  return most <= 0 || static_cast<double>(longer + 3) <= most * static_cast<double>(shorter + 3);
}

constexpr std::int64_t kLeastIdenticalWords = 3;  // names and numbers are the same in both languages

}  // namespace

std::string common_form(std::string_view text) {
  std::u32string characters;
  bool plain = true;  // nothing that NFC could change
  bool space = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) break;
    if (has_property(c, Property::white_space)) {
      space = !characters.empty();
    } else if (!invisible(c)) {
      if (std::exchange(space, false)) characters.push_back(U' ');
      characters.push_back(c);
      plain = plain && c < 0x300;
    }
  }
  std::string out;
  if (plain) {
    for (const char32_t c : characters) append_utf8(out, c);
  } else {
    for (const auto& changed : text::normalize(characters, text::NormalizationForm::nfc))
      append_utf8(out, changed.character);
  }
  return out;
}

std::int64_t count_words(std::string_view text) {
  return text.empty() ? 0 : 1 + std::count(text.begin(), text.end(), ' ');
}

void PairCleaner::exclude(const std::filesystem::path& file) {
  CorpusLines lines(file);
  bool found = false;
  for (std::string_view line; lines.next(line);) {
    if (find_invalid_utf8(line)) continue;
    const std::string text = common_form(line);
    if (!text.empty()) excluded_.add(line_key(text)), found = true;
  }
  check(found, "'{}' has no line to exclude: it is empty or not UTF-8 text", file.string());
}

PairFault PairCleaner::judge_lengths() const {
  const std::int64_t source = count_words(source_), target = count_words(target_);
  if (std::min(source, target) < options_.min_words) return PairFault::too_short;
  if (std::max(source, target) > options_.max_words) return PairFault::too_long;
  const bool close =
      within_ratio(static_cast<std::size_t>(source), static_cast<std::size_t>(target), options_.max_ratio) &&
      within_ratio(count_characters(source_), count_characters(target_), options_.max_ratio);
  return close ? PairFault::none : PairFault::length_ratio;
}

PairFault PairCleaner::clean(const PairView& pair) {
  if (find_invalid_utf8(pair.source) || find_invalid_utf8(pair.target)) return PairFault::invalid_utf8;
  source_ = common_form(pair.source), target_ = common_form(pair.target);
  if (source_.empty() || target_.empty()) return PairFault::empty;
  const std::uint64_t source = line_key(source_), target = line_key(target_);
  if (excluded_.has(source) || excluded_.has(target)) return PairFault::test_overlap;
  if (const PairFault fault = judge_lengths(); fault != PairFault::none) return fault;
  if (source == target && !options_.identical && count_words(source_) >= kLeastIdenticalWords)
    return PairFault::identical;
  const bool swapped = options_.language > 0 && (profile_.source_over_target(source_) < -options_.language ||
                                                 profile_.source_over_target(target_) > options_.language);
  return swapped ? PairFault::language : PairFault::none;
}

}  // namespace attend::data
