#include "attend/text/steps/bert_normalizer.h"

#include <algorithm>
#include <span>

#include "attend/base/unicode/category_tables.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/json_view.h"
#include "attend/text/steps/unicode_normalization.h"

namespace attend::text {

namespace {

bool is_among(std::span<const CharacterRange> ranges, char32_t c) {
  const auto range = std::ranges::lower_bound(ranges, c, {}, &CharacterRange::last);
  return range != ranges.end() && range->first <= c;
}

bool is_space(char32_t c) { return has_property(c, Property::white_space); }

bool is_dropped(char32_t c) {
  if (c == 0 || c == 0xFFFD) return true;
  return c != '\t' && c != '\n' && c != '\r' && is_among(kOtherCharacters, c);
}

bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// Marks that stay, yet have a combining class: next to each other they may change places, so text with them is not
// what its characters become one by one.
bool is_ordered_mark(char32_t c) {
  return c == 0x302E || c == 0x302F || (c >= 0x16FF0 && c <= 0x16FF1) || (c >= 0x1D165 && c <= 0x1D172);
}

}  // namespace

void lower_text(AlignedText& text) {
  constexpr char32_t kCapitalIWithDot = 0x130, kDotAbove = 0x307;
  std::vector<ChangedCharacter> changes;
  changes.reserve(text.characters().size());
  for (char32_t c : text.characters()) {
    changes.push_back({c == kCapitalIWithDot ? U'i' : lower_character(c), 0});
    if (c == kCapitalIWithDot) changes.push_back({kDotAbove, 1});
  }
  text.transform(changes);
}

BertNormalizer::BertNormalizer(const JsonView& json)
    : cleans_(json.boolean("clean_text", true)),
      sets_chinese_apart_(json.boolean("handle_chinese_chars", true)),
      lowers_(json.boolean("lowercase", true)) {
  strips_accents_ = json.boolean("strip_accents", lowers_);
  small_.resize(0x800);
  for (char32_t c = 0; c < small_.size(); ++c) small_[c] = one(c);
}

void BertNormalizer::clean(AlignedText& text) {
  text.filter([](char32_t c) { return !is_dropped(c); });
  std::u32string characters = text.characters();
  std::ranges::replace_if(characters, is_space, U' ');
  text.assign(std::move(characters), text.spans());
}

void BertNormalizer::set_chinese_apart(AlignedText& text) {
  if (std::ranges::none_of(text.characters(), is_chinese)) return;
  std::vector<ChangedCharacter> changes;
  for (char32_t c : text.characters()) {
    if (is_chinese(c)) {
      changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
    } else {
      changes.push_back({c, 0});
    }
  }
  text.transform(changes);
}

void BertNormalizer::strip_accents(AlignedText& text) {
  text.transform(normalize(text.characters(), NormalizationForm::nfd));
  text.filter([](char32_t c) { return !has_property(c, Property::mark) || is_among(kSpacingMarks, c); });
}

void BertNormalizer::apply(AlignedText& text) const {
  if (cleans_) clean(text);
  if (sets_chinese_apart_) set_chinese_apart(text);
  if (strips_accents_) strip_accents(text);
  if (lowers_) lower_text(text);
}

std::string BertNormalizer::one(char32_t c) const {
  std::string bytes;
  append_utf8(bytes, c);
  TextBudget budget(bytes.size());
  AlignedText text(bytes, 0, budget);
  apply(text);
  return to_utf8(text.characters());
}

// Each step looks at one character alone, but for the order of marks.
void BertNormalizer::apply_bytes(std::string& text, TextBudget& budget) const {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      const std::string& becomes = small_[byte];
      if (!becomes.empty()) out.push_back(becomes[0]);
      ++at;
      continue;
    }
    const char32_t c = next_character(text, at);
    if (is_ordered_mark(c)) return Normalizer::apply_bytes(text, budget);
    out += c < small_.size() ? small_[c] : one(c);
  }
  text = std::move(out);
}

}  // namespace attend::text
