#include "attend/data/corpus/quotation_marks.h"

#include <array>

#include "attend/base/unicode/unicode.h"

namespace attend::data {

namespace {

constexpr QuotationMarks kStraight = {"\"", "\""};
constexpr QuotationMarks kCurly = {"\u201C", "\u201D"};               // “yes”
constexpr QuotationMarks kGuillemets = {"\u00AB", "\u00BB"};          // «sí»
constexpr QuotationMarks kSpacedGuillemets = {"\u00AB ", " \u00BB"};  // « oui »
constexpr QuotationMarks kLowHigh = {"\u201E", "\u201C"};             // „ja“

// The own marks come first. English ones are straight, as in the corpora and the test sets of news.
using Styles = std::array<QuotationMarks, 3>;
constexpr Styles kEnglish = {kStraight, kCurly, kStraight};
constexpr Styles kFrench = {kSpacedGuillemets, kStraight, kCurly};
constexpr Styles kGerman = {kLowHigh, kStraight, kGuillemets};
constexpr Styles kOther = {kStraight, kCurly, kGuillemets};

const Styles& styles_of(std::string_view language) {
  if (language == "en") return kEnglish;
  if (language == "fr") return kFrench;
  if (language == "de") return kGerman;
  return kOther;
}

bool is_mark(char32_t c) {
  return c == U'"' || c == U'\u201C' || c == U'\u201D' || c == U'\u201E' || c == U'\u00AB' || c == U'\u00BB';
}

// “ opens in English and closes in German.
bool may_open(char32_t c) { return c != U'\u201D' && c != U'\u00BB'; }
bool may_close(char32_t c) { return c != U'\u201E' && c != U'\u00AB'; }

// A quotation begins behind one of these, and never right behind a letter or a digit.
bool may_precede(char32_t c) {
  return has_property(c, Property::white_space) || c == U'(' || c == U'[' || c == U'\'' || c == U'\u2019' ||
         c == U'-' || c == U'\u2013' || c == U'\u2014';
}

// Where white space at the end begins.
std::size_t end_of_words(std::string_view text) {
  const std::string_view words = without_outer_space(text);
  return words.empty() ? 0 : static_cast<std::size_t>(words.data() - text.data()) + words.size();
}

}  // namespace

QuotationMarks own_marks(std::string_view language) { return styles_of(language)[0]; }

QuotationMarks some_marks(std::string_view language, std::uint32_t draw) {
  const Styles& styles = styles_of(language);
  return styles[draw % styles.size()];
}

int count_marks(std::string_view text) {
  int count = 0;
  char32_t before = U' ';
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) return -1;
    if (is_mark(c)) {
      const bool opens = count % 2 == 0;
      if (opens ? !may_open(c) || !may_precede(before) : !may_close(c)) return -1;
      ++count;
    }
    before = c;
  }
  return count % 2 == 0 ? count : -1;
}

std::string with_marks(std::string_view text, const QuotationMarks& marks) {
  std::string out;
  bool inside = false, opened = false;  // opened: what follows is the space inside a quotation
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) break;  // the caller has counted
    if (!is_mark(c)) {
      if (opened && has_property(c, Property::white_space)) continue;
      out += text.substr(from, at - from), opened = false;
      continue;
    }
    if (inside) out.resize(end_of_words(out));
    out += inside ? marks.close : marks.open;
    inside = !inside, opened = inside;
  }
  return out;
}

std::string quoted(std::string_view text, const QuotationMarks& marks) {
  return std::string(marks.open) + std::string(text) + std::string(marks.close);
}

}  // namespace attend::data
