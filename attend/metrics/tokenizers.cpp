#include "attend/metrics/tokenizers.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/metrics/rewrite.h"
#include "attend/metrics/unicode.h"

namespace attend::metrics {

namespace {

constexpr std::pair<Tokenizer, std::string_view> kNames[] = {{Tokenizer::kMteval13a, "13a"},
                                                             {Tokenizer::kInternational, "intl"},
                                                             {Tokenizer::kCharacter, "char"},
                                                             {Tokenizer::kNone, "none"}};

bool between(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }
bool is_digit(char32_t c) { return between(c, U'0', U'9'); }
bool is_no_digit(char32_t c) { return !is_digit(c); }
bool is_period_or_comma(char32_t c) { return c == U'.' || c == U','; }

// ASCII symbols that always stand alone: all but ' , - . of them.
bool is_ascii_symbol(char32_t c) {
  return between(c, U' ', U'&') || between(c, U'(', U'+') || c == U'/' || between(c, U':', U'@') ||
         between(c, U'[', U'`') || between(c, U'{', U'~');
}

// A period or comma stays only between digits; a dash goes from a digit before it.
std::u32string split_periods_and_dashes(std::u32string_view text) {
  std::u32string out = isolate_second(text, is_no_digit, is_period_or_comma);
  out = isolate_first(out, is_period_or_comma, is_no_digit);
  return isolate_second(out, is_digit, [](char32_t c) { return c == U'-'; });
}

std::u32string padded(std::u32string_view text) {
  std::u32string out(1, U' ');
  return out.append(text).append(1, U' ');
}

std::u32string tokenize_13a(std::u32string_view line) {
  std::u32string text = replace_all(line, U"<skipped>", U"");
  text = replace_all(text, U"-\n", U"");
  text = replace_all(text, U"\n", U" ");
  return split_periods_and_dashes(isolate(padded(unescape_xml(std::move(text))), is_ascii_symbol));
}

std::u32string tokenize_international(std::u32string_view line) {
  const auto is_no_number = [](char32_t c) { return !is_number(c); };
  std::u32string text = isolate_second(line, is_no_number, is_punctuation);
  text = isolate_first(text, is_punctuation, is_no_number);
  return isolate(text, is_symbol);
}

// Chinese characters, radicals, strokes, enclosed and compatibility forms: a word each.
bool is_ideograph(char32_t c) {
  return between(c, 0x4E00, 0x9FFF) || between(c, 0x3200, 0x4DBF) || between(c, 0x31C0, 0x31EF) ||
         between(c, 0x2E80, 0x2EFF) || between(c, 0xF900, 0xFAFF) || between(c, 0xFE30, 0xFE4F);
}

bool is_asian_punctuation(char32_t c) {
  constexpr std::u32string_view kFullWidth = U"\uFF0E\uFF0C\uFF1F\uFF1A\uFF1B\uFF01\uFF02\uFF08\uFF09";
  return c == 0x3001 || c == 0x3002 || between(c, 0x3008, 0x3011) || between(c, 0x3014, 0x301F) ||
         between(c, 0xFF61, 0xFF65) || c == 0x30FB || kFullWidth.find(c) != kFullWidth.npos;
}

std::u32string normalize_tercom(std::u32string_view line) {
  std::u32string text = replace_all(line, U"\n-", U"");
  text = replace_all(text, U"\n", U" ");
  text = isolate(padded(unescape_xml(std::move(text))), is_ascii_symbol);
  text = replace_all(text, U"'s ", U" 's ");
  return split_periods_and_dashes(text);
}

}  // namespace

Tokenizer tokenizer_named(std::string_view name) {
  for (const auto& [tokenizer, known] : kNames)
    if (known == name) return tokenizer;
  fail("unknown tokenizer \"{}\": it must be 13a, intl, char or none", name);
}

std::string_view tokenizer_name(Tokenizer tokenizer) {
  for (const auto& [known, name] : kNames)
    if (known == tokenizer) return name;
  fail("tokenizer {} has no name", static_cast<int>(tokenizer));
}

std::u32string tokenize(Tokenizer tokenizer, std::u32string_view line) {
  switch (tokenizer) {
    case Tokenizer::kMteval13a:
      return tokenize_13a(line);
    case Tokenizer::kInternational:
      return tokenize_international(line);
    case Tokenizer::kCharacter:
      return isolate(line, [](char32_t c) { return !is_space(c); });
    case Tokenizer::kNone:
      break;
  }
  return std::u32string(line);
}

std::u32string tokenize_tercom(const TercomOptions& options, std::u32string_view line) {
  std::u32string text = options.case_sensitive ? std::u32string(line) : lower(line);
  if (options.normalized) {
    text = normalize_tercom(text);
    if (options.asian) text = isolate(text, [](char32_t c) { return is_ideograph(c) || is_asian_punctuation(c); });
  }
  if (options.no_punctuation) {
    constexpr std::u32string_view kDropped = U".,?:;!\"()";
    text = remove(text, [&](char32_t c) {
      return kDropped.find(c) != kDropped.npos || (options.asian && is_asian_punctuation(c));
    });
  }
  return text;
}

}  // namespace attend::metrics
