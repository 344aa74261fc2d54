#include "attend/serve/doors/libre_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "attend/base/unicode/unicode.h"

namespace attend::serve {

namespace {

bool ends_sentence(char32_t c) {
  return c == U'.' || c == U'!' || c == U'?' || c == U'\u2026' || c == U'\u3002' || c == U'\uFF01' || c == U'\uFF1F';
}
bool closes(char32_t c) {
  return c == U'"' || c == U'\'' || c == U')' || c == U']' || c == U'\u201D' || c == U'\u2019' || c == U'\u00BB';
}
bool blank_at(std::string_view text, std::size_t at) {
  return has_property(next_character(text, at), Property::white_space);
}
bool is_title(std::string_view word) {
  if (word.size() == 1) return std::isupper(static_cast<unsigned char>(word[0])) != 0;
  for (const std::string_view title : {"Mr", "Mrs", "Ms", "Dr", "St", "Prof"})
    if (word == title) return true;
  return false;
}
bool small_letter(char32_t c) { return c >= U'a' && c <= U'z'; }

void keep(std::vector<TextPiece>& pieces, std::string_view text) {
  if (text.empty()) return;
  if (!pieces.empty() && !pieces.back().translated)
    pieces.back().text += text;
  else
    pieces.push_back({std::string(text), false});
}

// One line: blanks around stay, the rest are sentences.
void add_line(std::vector<TextPiece>& pieces, std::string_view line) {
  std::size_t begin = 0;
  while (begin < line.size()) {
    std::size_t at = begin;
    while (at < line.size() && blank_at(line, at)) next_character(line, at);
    keep(pieces, line.substr(begin, at - begin));
    begin = at;
    std::size_t end = line.size(), last = begin;  // behind the last character that is not blank
    while (at < line.size()) {
      const std::size_t here = at;
      const char32_t c = next_character(line, at);
      if (!has_property(c, Property::white_space)) last = at;
      if (!ends_sentence(c)) continue;
      while (at < line.size()) {
        std::size_t next = at;
        const char32_t mark = next_character(line, next);
        if (!ends_sentence(mark) && !closes(mark)) break;
        at = last = next;
      }
      const bool wide = c == U'\u3002' || c == U'\uFF01' || c == U'\uFF1F';
      if (at >= line.size()) break;
      std::size_t behind = at;
      while (behind < line.size() && blank_at(line, behind)) next_character(line, behind);
      if (behind == at && !wide) continue;
      std::size_t first = behind;
      const bool letter = behind < line.size() && !small_letter(next_character(line, first));
      // "Mr. Smith" and "J. Smith" go on.
      std::size_t word = here;
      while (word > begin && std::isalpha(static_cast<unsigned char>(line[word - 1]))) --word;
      const bool title = c == U'.' && is_title(line.substr(word, here - word));
      if (letter && !title) {
        end = at;
        break;
      }
    }
    if (end == line.size()) end = last;
    if (end > begin) pieces.push_back({std::string(line.substr(begin, end - begin)), true});
    if (end == begin) {
      keep(pieces, line.substr(begin));
      break;
    }
    begin = end;
  }
}

std::string unescaped_html(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kNamed[] = {
      {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\xC2\xA0"}};
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    if (end == std::string_view::npos || end - i > 10) {
      result += text[i];
      continue;
    }
    const std::string_view name = text.substr(i + 1, end - i - 1);
    bool known = false;
    for (const auto& [entity, character] : kNamed)
      if (name == entity) result += character, known = true;
    if (!known && name.size() > 1 && name[0] == '#') {
      const bool hex = name[1] == 'x' || name[1] == 'X';
      std::uint32_t value = 0;
      const char* from = name.data() + (hex ? 2 : 1);
      const auto [stop, error] = std::from_chars(from, name.data() + name.size(), value, hex ? 16 : 10);
      if (error == std::errc() && stop == name.data() + name.size() && value > 0 && value < 0x110000 &&
          (value < 0xD800 || value > 0xDFFF))
        append_utf8(result, value), known = true;
    }
    if (!known) {
      result += text[i];
      continue;
    }
    i = end;
  }
  return result;
}

bool same_word(std::string_view text, std::size_t at, std::string_view word) {
  if (text.size() - at < word.size()) return false;
  return std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, char b) { return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b))); });
}

bool is_tag(std::string_view html, std::size_t at) {
  if (html[at] != '<' || at + 1 >= html.size()) return false;
  const char next = html[at + 1];
  return std::isalpha(static_cast<unsigned char>(next)) || next == '/' || next == '!' || next == '?';
}

// Where what begins with '<' at `at` ends.
std::size_t end_of_tag(std::string_view html, std::size_t at) {
  const auto behind = [&](std::string_view end, std::size_t from) {
    for (std::size_t i = from; i + end.size() <= html.size(); ++i)
      if (same_word(html, i, end)) return i + end.size();
    return html.size();
  };
  if (same_word(html, at, "<!--")) return behind("-->", at + 4);
  for (const std::string_view whole : {std::string_view("script"), std::string_view("style")})
    if (same_word(html, at + 1, whole) && at + 1 + whole.size() < html.size() &&
        !std::isalnum(static_cast<unsigned char>(html[at + 1 + whole.size()])))
      return behind(">", behind("</" + std::string(whole), at));
  char quote = 0;
  for (std::size_t i = at + 1; i < html.size(); ++i) {
    if (quote != 0)
      quote = html[i] == quote ? '\0' : quote;
    else if (html[i] == '"' || html[i] == '\'')
      quote = html[i];
    else if (html[i] == '>')
      return i + 1;
  }
  return html.size();
}

}  // namespace

std::vector<TextPiece> plain_pieces(std::string_view text) {
  std::vector<TextPiece> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_line(pieces, text.substr(0, end));
    text.remove_prefix(end);
    const std::size_t next = std::min(text.find_first_not_of('\n'), text.size());
    keep(pieces, text.substr(0, next));
    text.remove_prefix(next);
  }
  return pieces;
}

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

std::vector<TextPiece> html_pieces(std::string_view html) {
  std::vector<TextPiece> pieces;
  std::size_t at = 0;
  while (at < html.size()) {
    if (is_tag(html, at)) {
      const std::size_t end = end_of_tag(html, at);
      keep(pieces, html.substr(at, end - at));
      at = end;
      continue;
    }
    std::size_t end = at + 1;
    while (end < html.size() && !is_tag(html, end)) ++end;
    for (TextPiece& piece : plain_pieces(unescaped_html(html.substr(at, end - at)))) {
      if (piece.translated)
        pieces.push_back(std::move(piece));
      else
        keep(pieces, html_escaped(piece.text));
    }
    at = end;
  }
  return pieces;
}

}  // namespace attend::serve
