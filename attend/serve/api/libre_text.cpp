#include "attend/serve/api/libre_text.h"

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
// What has none, such as a lone full stop or a number, is the same in every language.
bool has_letter(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) ++at;
    if (c != kInvalidCharacter && has_property(c, Property::letter)) return true;
  }
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
    const std::string_view sentence = line.substr(begin, end - begin);
    if (has_letter(sentence))
      pieces.push_back({std::string(sentence), true});
    else
      keep(pieces, sentence);
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
  constexpr std::size_t kLongest = 11;  // "&#x0010FFFF" is no longer; a text of '&' alone would be read all over again
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t length = text[i] == '&' ? text.substr(i, kLongest).find(';') : std::string_view::npos;
    if (length == std::string_view::npos) {
      result += text[i];
      continue;
    }
    const std::size_t end = i + length;
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

// "b" of "<b class=x>" and of "</b>".
std::string name_of_tag(std::string_view tag) {
  std::string name;
  for (const char c : tag.substr(tag.starts_with("</") ? 2 : 1)) {
    if (!std::isalnum(static_cast<unsigned char>(c))) break;
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

// Those that stand inside of a sentence and have an end.
bool is_inline(std::string_view tag) {
  static constexpr std::string_view kNames[] = {"a",     "abbr", "b",      "bdi",    "bdo", "cite", "data", "del",
                                                "dfn",   "em",   "font",   "i",      "ins", "mark", "q",    "s",
                                                "small", "span", "strike", "strong", "sub", "sup",  "time", "u"};
  return std::ranges::find(kNames, name_of_tag(tag)) != std::end(kNames) && !tag.ends_with("/>");
}

// Text with the tags of inline elements in it, up to a tag of another kind.
struct InlineRun {
  struct Tag {
    std::string text;
    std::size_t at;  // bytes of the run before it
    bool closes;
  };
  std::string text;
  std::vector<Tag> tags;

  void add_to(std::vector<TextPiece>& pieces);

 private:
  // The tag that ends each element, by the tag that begins it; nothing where they do not fit.
  std::vector<std::ptrdiff_t> ends() const;
};

std::vector<std::ptrdiff_t> InlineRun::ends() const {
  std::vector<std::ptrdiff_t> ends(tags.size(), -1);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (!tags[i].closes) {
      open.push_back(i);
    } else {
      if (open.empty() || name_of_tag(tags[open.back()].text) != name_of_tag(tags[i].text)) return {};
      ends[open.back()] = static_cast<std::ptrdiff_t>(i);
      open.pop_back();
    }
  }
  return open.empty() ? ends : std::vector<std::ptrdiff_t>{};
}

// A sentence has the elements that are all in it; what is around one or more sentences, or around anything where an
// element begins in one sentence and ends in another, is a tag between pieces, and ends a sentence.
void InlineRun::add_to(std::vector<TextPiece>& pieces) {
  std::vector<TextPiece> cut = plain_pieces(text);
  const std::vector<std::ptrdiff_t> last = ends();
  bool whole = last.size() == tags.size();
  std::vector<bool> within(tags.size());
  std::size_t begin = 0;
  for (TextPiece& piece : cut) {
    const std::size_t end = begin + piece.text.size();
    std::vector<std::pair<std::size_t, std::ptrdiff_t>> open;  // where they end, and which they are
    for (std::size_t i = 0; whole && piece.translated && i < tags.size(); ++i) {
      if (last[i] < 0) continue;
      const auto close = static_cast<std::size_t>(last[i]);
      const bool around = tags[i].at == begin && tags[close].at == end;
      if (tags[i].at < begin || tags[close].at > end || tags[i].at >= end || around) continue;
      while (!open.empty() && open.back().first < i) open.pop_back();
      piece.elements.push_back({tags[i].text, tags[close].text, tags[i].at - begin, tags[close].at - begin,
                                open.empty() ? -1 : open.back().second});
      open.emplace_back(close, static_cast<std::ptrdiff_t>(piece.elements.size()) - 1);
      within[i] = within[close] = true;
    }
    for (std::size_t i = 0; i < tags.size(); ++i)
      whole = whole && (within[i] || tags[i].at <= begin || tags[i].at >= end);
    begin = end;
  }
  if (!whole) {  // cut at every tag
    cut.clear();
    std::size_t from = 0, next = 0;
    within.assign(tags.size(), false);
    std::vector<TextPiece> parts;
    while (next <= tags.size()) {
      const std::size_t to = next < tags.size() ? tags[next].at : text.size();
      for (TextPiece& piece : plain_pieces(std::string_view(text).substr(from, to - from)))
        cut.push_back(std::move(piece));
      from = to, ++next;
    }
  }
  begin = 0;
  std::size_t tag = 0;
  const auto keep_tags = [&](std::size_t up_to) {
    for (; tag < tags.size() && (within[tag] || tags[tag].at <= up_to); ++tag)
      if (!within[tag]) keep(pieces, tags[tag].text);
  };
  for (TextPiece& piece : cut) {
    keep_tags(begin);
    begin += piece.text.size();
    if (piece.translated)
      pieces.push_back(std::move(piece));
    else
      keep(pieces, html_escaped(piece.text));
  }
  keep_tags(text.size());
  text.clear(), tags.clear();
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

std::vector<TextPiece> html_pieces(std::string_view html) {
  constexpr std::size_t kMostTags = 256;  // of a run, whose every sentence is held against every tag
  std::vector<TextPiece> pieces;
  InlineRun run;
  std::size_t at = 0;
  while (at < html.size()) {
    if (is_tag(html, at)) {
      const std::size_t end = end_of_tag(html, at);
      const std::string_view tag = html.substr(at, end - at);
      if (is_inline(tag)) {
        if (run.tags.size() >= kMostTags) run.add_to(pieces);
        run.tags.push_back({std::string(tag), run.text.size(), tag[1] == '/'});
      } else {
        run.add_to(pieces);
        keep(pieces, tag);
      }
      at = end;
      continue;
    }
    std::size_t end = at + 1;
    while (end < html.size() && !is_tag(html, end)) ++end;
    run.text += unescaped_html(html.substr(at, end - at));
    at = end;
  }
  run.add_to(pieces);
  return pieces;
}

}  // namespace attend::serve
