// The words of a caption, as the Penn Treebank's tokenizer (Stanford's, which COCO's caption code calls) has them: what
// it does with all that people write about images. Left out are its rules for addresses, faces and foreign
// currencies.
#include <algorithm>
#include <array>
#include <utility>

#include "attend/base/unicode/unicode.h"
#include "attend/metrics/captions.h"
#include "attend/metrics/unicode.h"

namespace attend::metrics {

namespace {

// Words that keep the stop behind them. One that ends the caption is taken for its end all the same.
constexpr std::array<std::u32string_view, 29> kAbbreviations = {
    U"mr",  U"mrs", U"ms",   U"dr",   U"st",  U"jr",  U"sr",  U"prof", U"vs",  U"etc",
    U"inc", U"co",  U"corp", U"ltd",  U"mt",  U"ave", U"gen", U"col",  U"sgt", U"gov",
    U"jan", U"feb", U"aug",  U"sept", U"oct", U"nov", U"dec", U"no",   U"rev"};

// What is cut off the end of a word, as a word of its own.
constexpr std::array<std::u32string_view, 7> kClitics = {U"n't", U"'s", U"'m", U"'d", U"'ll", U"'re", U"'ve"};

// Two words written as one.
constexpr std::array<std::pair<std::u32string_view, std::size_t>, 9> kJoined = {{{U"cannot", 3},
                                                                                 {U"gonna", 3},
                                                                                 {U"gotta", 3},
                                                                                 {U"wanna", 3},
                                                                                 {U"lemme", 3},
                                                                                 {U"gimme", 3},
                                                                                 {U"'tis", 2},
                                                                                 {U"'twas", 2},
                                                                                 {U"d'ye", 2}}};

// Dropped wherever they stand alone. Brackets are not: COCO's code looks for -LRB- when it is -lrb- already.
constexpr std::u32string_view kDropped = U"'`\".?!,:;-\u2018\u2019\u201C\u201D\u2013\u2014\u2026\u00AB\u00BB";

std::u32string_view bracket_name(char32_t c) {
  switch (c) {
    case U'(':
      return U"-lrb-";
    case U')':
      return U"-rrb-";
    case U'[':
      return U"-lsb-";
    case U']':
      return U"-rsb-";
    case U'{':
      return U"-lcb-";
    case U'}':
      return U"-rcb-";
    default:
      return {};
  }
}

bool is_ascii_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_letter(char32_t c) { return !is_space(c) && !is_punctuation(c) && !is_symbol(c); }  // or a number
bool is_apostrophe(char32_t c) { return c == U'\'' || c == U'\u2019'; }

class CaptionReader {
 public:
  explicit CaptionReader(std::u32string_view text) : text_(text) {}

  Words words() {
    while (at_ < text_.size()) {
      if (is_letter(text_[at_]) || (is_apostrophe(text_[at_]) && clitic_here())) {
        read_word();
      } else {
        read_sign();
      }
    }
    return std::move(words_);
  }

 private:
  char32_t after(std::size_t i) const { return i + 1 < text_.size() ? text_[i + 1] : U'\0'; }

  // 's after a space, as text that was split before has it.
  bool clitic_here() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    std::u32string piece = U"'" + std::u32string(text_.substr(at_ + 1, end - at_ - 1));
    return std::find(kClitics.begin(), kClitics.end(), piece) != kClitics.end() || piece == U"'tis" ||
           piece == U"'twas";
  }

  // Whether a sign between two letters or digits is part of the word.
  bool joins(std::size_t i) const {
    const char32_t c = text_[i], next = after(i);
    if (next == U'\0' || !is_letter(next)) return false;
    if (c == U'-' || c == U'_' || c == U'/' || c == U'&' || is_apostrophe(c)) return true;
    if (c == U'.' || c == U',' || c == U':') return is_ascii_digit(text_[i - 1]) && is_ascii_digit(next);
    return false;
  }

  // u.s., a.m.
  bool in_acronym(std::size_t begin, std::size_t i) const {
    if (text_[i] != U'.') return false;
    for (std::size_t k = begin; k < i; ++k)
      if (((k - begin) % 2 == 1) != (text_[k] == U'.')) return false;
    if ((i - begin) % 2 == 0 || is_ascii_digit(text_[i - 1])) return false;
    const bool goes_on = is_letter(after(i)) && (i + 2 >= text_.size() || !is_letter(text_[i + 2]));
    return goes_on || i > begin + 1;
  }

  void read_word() {
    const std::size_t begin = at_;
    ++at_;  // a letter, or the apostrophe of a clitic
    while (at_ < text_.size() && (is_letter(text_[at_]) || joins(at_) || in_acronym(begin, at_))) ++at_;
    std::u32string word(text_.substr(begin, at_ - begin));
    for (char32_t& c : word)
      if (is_apostrophe(c)) c = U'\'';
    const bool stop = at_ < text_.size() && text_[at_] == U'.' && at_ + 1 < text_.size();
    if (stop && std::find(kAbbreviations.begin(), kAbbreviations.end(), word) != kAbbreviations.end()) {
      word += U'.';
      ++at_;
    }
    add_word(word);
  }

  void add_word(std::u32string_view word) {
    for (const auto& [joined, first] : kJoined) {
      if (word != joined) continue;
      add(word.substr(0, first));
      return add(word.substr(first));
    }
    for (const std::u32string_view clitic : kClitics) {
      if (word.size() <= clitic.size() || !word.ends_with(clitic)) continue;
      add_word(word.substr(0, word.size() - clitic.size()));
      return add(clitic);
    }
    add(word);
  }

  void read_sign() {
    const char32_t c = text_[at_++];
    if (is_space(c) || kDropped.find(c) != kDropped.npos) return;
    const std::u32string_view bracket = bracket_name(c);
    add(bracket.empty() ? std::u32string_view(&c, 1) : bracket);
  }

  // The Treebank writes a backslash before slashes and stars.
  void add(std::u32string_view word) {
    std::string& text = words_.emplace_back();
    for (const char32_t c : word) {
      if (c == U'/' || c == U'*') text += '\\';
      append_utf8(text, c);
    }
  }

  std::u32string_view text_;
  std::size_t at_ = 0;
  Words words_;
};

}  // namespace

Words caption_words(std::string_view caption) {
  const std::u32string text = lower(decode_utf8(caption));
  return CaptionReader(text).words();
}

Captioned captioned(std::string_view hypothesis, std::span<const std::string> references) {
  Captioned one{.hypothesis = caption_words(hypothesis)};
  for (const std::string& reference : references) one.references.push_back(caption_words(reference));
  return one;
}

std::vector<Captioned> captioned(std::span<const data::CocoCaptions> captions) {
  std::vector<Captioned> all;
  all.reserve(captions.size());
  for (const data::CocoCaptions& one : captions) all.push_back(captioned(one.hypothesis, one.references));
  return all;
}

}  // namespace attend::metrics
