#include "attend/serve/api/inline_tags.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "attend/base/unicode/unicode.h"

namespace attend::serve {

namespace inline_tags {
namespace {

struct Span {
  std::size_t begin = 0, end = 0;
};

// Which bytes of a text each element is around; written with those inside of others in them.
void write(std::string& out, std::string_view text, Span all, const std::vector<InlineElement>& elements,
           const std::vector<Span>& spans, std::ptrdiff_t parent) {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i].parent == parent) own.push_back(i);
  std::ranges::stable_sort(own, {}, [&](std::size_t i) { return spans[i].begin; });
  std::size_t at = all.begin;
  for (const std::size_t i : own) {
    const Span span{std::max(spans[i].begin, at), std::max(spans[i].end, at)};
    out += html_escaped(text.substr(at, span.begin - at)) + elements[i].open;
    write(out, text, span, elements, spans, static_cast<std::ptrdiff_t>(i));
    out += elements[i].close;
    at = span.end;
  }
  out += html_escaped(text.substr(at, all.end - at));
}

bool is_space(std::string_view text, std::size_t at) {
  return has_property(next_character(text, at), Property::white_space);
}

// Where the tokens stand in the text that they are when joined; empty when they are another text.
std::vector<Span> places_of(std::span<const std::string> tokens, std::string_view text) {
  std::vector<Span> places;
  std::size_t at = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string_view token = tokens[i];
    if (i == 0 && token.starts_with(' ') && !text.starts_with(' ')) token.remove_prefix(1);
    if (text.substr(at, token.size()) != token) return {};
    Span place{at, at + token.size()};
    while (place.begin < place.end && is_space(text, place.begin)) next_character(text, place.begin);
    places.push_back(place);
    at += token.size();
  }
  return at == text.size() ? places : std::vector<Span>{};
}

bool is_mark(std::string_view token) {
  for (std::size_t at = 0; at < token.size();) {
    const char32_t c = next_character(token, at);
    if (c == kInvalidCharacter) return false;
    if (has_property(c, Property::letter) || has_property(c, Property::number)) return false;
  }
  return true;
}

// What of the translation goes into an element or does not: a word, or a mark beside one; how much it looked at each
// token of the source.
struct Unit {
  Span place;
  std::vector<float> looked;
  bool mark = false;
};

struct Aligned {
  std::vector<Span> source = {};  // of its tokens
  std::vector<bool> marks = {};   // which of those are
  std::vector<Unit> units = {};
};

Aligned aligned(std::string_view source, std::string_view text, const view::AttentionMap& seen) {
  Aligned result;
  const std::size_t columns = seen.source.size();
  if (columns < 2 || seen.target.empty()) return result;
  // Behind the last token of each there is a mark for the end; a translation that was cut has none.
  result.source = places_of(std::span(seen.source).first(columns - 1), source);
  std::vector<Span> places = places_of(std::span(seen.target).first(seen.target.size() - 1), text);
  if (places.empty()) places = places_of(seen.target, text);
  if (result.source.empty()) return {};
  for (const Span place : result.source)
    result.marks.push_back(is_mark(source.substr(place.begin, place.end - place.begin)));
  bool after_mark = true;
  for (std::size_t t = 0; t < places.size(); ++t) {
    const Span place = places[t];
    const bool spaced = place.begin > 0 && (t == 0 || place.begin > places[t - 1].end),
               mark = is_mark(text.substr(place.begin, place.end - place.begin));
    const float* row = seen.weights.data() + t * columns;
    if (result.units.empty() || spaced || mark || after_mark)
      result.units.push_back({place, std::vector<float>(columns - 1), mark});
    Unit& unit = result.units.back();
    unit.place.end = place.end;
    for (std::size_t s = 0; s + 1 < columns; ++s) unit.looked[s] += row[s];
    after_mark = mark;
  }
  return result;
}

// Words keep their places, as far as one can say: the middle of each against the middles of the others.
view::AttentionMap by_place(std::string_view source, std::string_view text) {
  const auto words = [](std::string_view all) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t begin = at;
      const bool space = is_space(all, at);
      if (next_character(all, at) == kInvalidCharacter) ++at;
      if (found.empty() || space) found.emplace_back();
      found.back() += all.substr(begin, at - begin);
    }
    return found;
  };
  view::AttentionMap map{words(source), words(text), {}};
  const auto middle = [](std::size_t i, std::size_t count) {
    return (static_cast<float>(i) + 0.5f) / static_cast<float>(count);
  };
  const std::size_t rows = map.target.size(), columns = map.source.size();
  for (std::size_t t = 0; t < rows + 1; ++t)
    for (std::size_t s = 0; s < columns + 1; ++s)
      map.weights.push_back(s < columns ? 1 - std::abs(middle(t, rows) - middle(s, columns)) : 0);
  map.source.emplace_back(), map.target.emplace_back();
  return map;
}

// Elements in the order of the source, those around others first: each takes the free word that looked at it most, and
// its free neighbours that looked at it more than elsewhere. Bytes of the translation; nothing is left: at the end.
std::vector<Span> placed(const std::vector<InlineElement>& elements, const Aligned& words, std::size_t length) {
  std::vector<Span> bytes, units;
  std::vector<std::ptrdiff_t> owner(words.units.size(), -1);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const InlineElement& element = elements[i];
    const bool outer = element.parent < 0;
    const auto around = static_cast<std::size_t>(outer ? 0 : element.parent);
    const Span room = outer ? Span{0, words.units.size()} : units[around];
    const auto inside = [&](std::size_t s) {
      return words.source[s].begin < element.end && words.source[s].end > element.begin;
    };
    const auto fits = [&](std::size_t u) {
      const std::vector<float>& looked = words.units[u].looked;
      return owner[u] == element.parent &&
             inside(static_cast<std::size_t>(std::ranges::max_element(looked) - looked.begin()));
    };
    std::size_t best = room.end;
    float most = -2;
    for (std::size_t u = room.begin; u < room.end; ++u) {
      float sum = words.units[u].mark ? -1.0f : 0.0f;
      for (std::size_t s = 0; s < words.source.size(); ++s) sum += inside(s) ? words.units[u].looked[s] : 0;
      if (owner[u] == element.parent && sum > most) most = sum, best = u;
    }
    Span taken{best, best};
    if (best == room.end || element.begin == element.end) {
      const std::size_t at = best < room.end ? words.units[best].place.begin : outer ? length : bytes[around].end;
      bytes.push_back({at, at}), units.push_back(taken);
      continue;
    }
    taken.end = best + 1;
    while (taken.begin > room.begin && fits(taken.begin - 1)) --taken.begin;
    while (taken.end < room.end && fits(taken.end)) ++taken.end;
    // A comma beside the words belongs to the sentence, unless the element had one.
    bool marked = false;
    for (std::size_t s = 0; s < words.source.size(); ++s) marked = marked || (inside(s) && words.marks[s]);
    while (!marked && taken.end > best + 1 && words.units[taken.end - 1].mark) --taken.end;
    while (!marked && taken.begin < best && words.units[taken.begin].mark) ++taken.begin;
    for (std::size_t u = taken.begin; u < taken.end; ++u) owner[u] = static_cast<std::ptrdiff_t>(i);
    bytes.push_back({words.units[taken.begin].place.begin, words.units[taken.end - 1].place.end});
    units.push_back(taken);
  }
  return bytes;
}

}  // namespace
}  // namespace inline_tags

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

std::string with_tags(std::string_view text, const std::vector<InlineElement>& elements) {
  std::vector<inline_tags::Span> spans;
  for (const InlineElement& element : elements) spans.push_back({element.begin, element.end});
  std::string out;
  inline_tags::write(out, text, {0, text.size()}, elements, spans, -1);
  return out;
}

std::string with_tags(std::string_view source, const std::vector<InlineElement>& elements, std::string_view translation,
                      const view::AttentionMap& seen) {
  if (elements.empty()) return html_escaped(translation);
  inline_tags::Aligned words = inline_tags::aligned(source, translation, seen);
  if (words.units.empty())
    words = inline_tags::aligned(source, translation, inline_tags::by_place(source, translation));
  const std::vector<inline_tags::Span> spans = inline_tags::placed(elements, words, translation.size());
  std::string out;
  inline_tags::write(out, translation, {0, translation.size()}, elements, spans, -1);
  return out;
}

}  // namespace attend::serve
