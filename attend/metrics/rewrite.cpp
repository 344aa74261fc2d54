#include "attend/metrics/rewrite.h"

#include <utility>

namespace attend::metrics {

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to) {
  std::u32string out;
  out.reserve(text.size());
  std::size_t begin = 0;
  for (std::size_t at; (at = text.find(from, begin)) != text.npos; begin = at + from.size())
    out.append(text.substr(begin, at - begin)).append(to);
  out.append(text.substr(begin));
  return out;
}

std::u32string unescape_xml(std::u32string text) {
  constexpr std::pair<std::u32string_view, std::u32string_view> kEscapes[] = {
      {U"&quot;", U"\""}, {U"&amp;", U"&"}, {U"&lt;", U"<"}, {U"&gt;", U">"}};
  for (const auto& [from, to] : kEscapes) {
    if (text.find(U'&') == text.npos) break;
    text = replace_all(text, from, to);
  }
  return text;
}

}  // namespace attend::metrics
