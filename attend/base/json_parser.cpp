// JSON (RFC 8259) from text that may be anybody's.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/unicode.h"

namespace attend {

namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view what, const JsonLimits& limits)
      : text_(text), what_(what), limits_(limits) {
    at_ = text.size() - without_mark(text).size();
  }

  Json parse() {
    Json json = value(0);
    skip_space();
    if (at_ < text_.size()) refuse();
    return json;
  }

 private:
  [[noreturn]] void refuse(const char* problem = "not valid JSON") const {
    fail("{}: {} at byte {} of {}", what_, problem, std::min(at_ + 1, text_.size()), text_.size());
  }
  // The next byte; 0 at the end, which no rule takes.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  void expect(char c) {
    skip_space();
    if (peek() != c) refuse();
    ++at_;
  }

  Json value(int depth) {
    skip_space();
    const char c = peek();
    if (c == '{' || c == '[') {
      check(depth < limits_.depth, "{}: the JSON is nested more than {} deep (kDeepestJson in attend/base/limits.h)",
            what_, limits_.depth);
      ++at_;
      return c == '{' ? object(depth + 1) : array(depth + 1);
    }
    if (c == '"') return string();
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    if (word("true")) return true;
    if (word("false")) return false;
    if (word("null")) return nullptr;
    refuse();
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }

  Json object(int depth) {
    Json result = Json::object();
    skip_space();
    if (peek() == '}') return ++at_, result;
    do {
      skip_space();
      if (peek() != '"') refuse();
      const std::string name = string();
      const std::size_t before = result.size();
      Json& member = result[name];
      check(result.size() > before, "{}: the JSON has {} twice in one object", what_, shown(name));
      expect(':');
      member = value(depth);
      skip_space();
    } while (peek() == ',' && ++at_);
    expect('}');
    return result;
  }

  Json array(int depth) {
    Json result = Json::array();
    skip_space();
    if (peek() == ']') return ++at_, result;
    do {
      result.push_back(value(depth));
      skip_space();
    } while (peek() == ',' && ++at_);
    expect(']');
    return result;
  }

  std::string string() {
    ++at_;  // the quote
    std::string result;
    for (;;) {
      std::size_t end = at_;
      while (end < text_.size() && static_cast<unsigned char>(text_[end]) >= 0x20 && text_[end] != '"' &&
             text_[end] != '\\')
        ++end;
      const std::string_view plain = text_.substr(at_, end - at_);
      if (const auto bad = find_invalid_utf8(plain)) at_ += *bad, refuse("bad UTF-8 in the JSON");
      result += plain;
      at_ = end;
      if (peek() == '"') return ++at_, result;
      if (peek() != '\\') refuse();
      ++at_;
      escape(result);
    }
  }

  void escape(std::string& result) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char c = peek();
    if (const std::size_t i = kLetters.find(c); c != '\0' && i != std::string_view::npos) {
      ++at_;
      result += kMeanings[i];
      return;
    }
    if (c != 'u') refuse();
    ++at_;
    char32_t character = unit();
    if (character >= 0xDC00 && character < 0xE000) refuse();
    if (character >= 0xD800 && character < 0xDC00) {  // the first half of a pair
      if (!word("\\u")) refuse();
      const char32_t low = unit();
      if (low < 0xDC00 || low >= 0xE000) refuse();
      character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(result, character);
  }

  char32_t unit() {  // four hexadecimal digits
    std::uint32_t value = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) refuse();
    at_ += 4;
    return value;
  }

  void digits() {
    if (peek() < '0' || peek() > '9') refuse();
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  Json number() {
    const std::size_t begin = at_;
    const bool negative = peek() == '-';
    if (negative) ++at_;
    if (peek() == '0')
      ++at_;
    else
      digits();
    const std::size_t whole = at_;
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    const char *first = text_.data() + begin, *last = text_.data() + at_;
    if (at_ == whole) {
      std::int64_t integer = 0;
      std::uint64_t natural = 0;
      if (negative && std::from_chars(first, last, integer).ec == std::errc()) return integer;
      if (!negative && std::from_chars(first, last, natural).ec == std::errc()) return natural;
    }
    double real = 0;
    // from_chars says out of range for too small as well as for too large; strtod returns 0 or infinity.
    if (std::from_chars(first, last, real).ec != std::errc())
      real = std::strtod(std::string(first, last).c_str(), nullptr);
    check(std::isfinite(real), "{}: the JSON has a number out of range", what_);
    return real;
  }

  std::string_view text_, what_;
  JsonLimits limits_;
  std::size_t at_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  return Parser(text, what, limits).parse();
}

}  // namespace attend
