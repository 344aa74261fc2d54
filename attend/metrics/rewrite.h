// The rewriting steps that tokenizers are made of. Each is one pass from left to right that never looks again at what
// it has written, as a regular expression's "replace all" does; what comes out depends on that.
#pragma once

#include <string>
#include <string_view>

namespace attend::metrics {

// "x" -> " x " for every x that passes.
template <class Test>
std::u32string isolate(std::u32string_view text, Test test) {
  std::u32string out;
  out.reserve(text.size() * 2);
  for (const char32_t c : text) {
    if (test(c)) {
      out.append({U' ', c, U' '});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// "xy" -> replace(x, y, out) for every pair that passes; the pair is consumed as one.
template <class First, class Second, class Replace>
std::u32string rewrite_pairs(std::u32string_view text, First first, Second second, Replace replace) {
  std::u32string out;
  out.reserve(text.size() * 2);
  std::size_t i = 0;
  for (; i + 1 < text.size(); ++i) {
    if (first(text[i]) && second(text[i + 1])) {
      replace(text[i], text[i + 1], out);
      ++i;
    } else {
      out.push_back(text[i]);
    }
  }
  if (i < text.size()) out.push_back(text[i]);
  return out;
}

// "xy" -> "x y ".
template <class First, class Second>
std::u32string isolate_second(std::u32string_view text, First first, Second second) {
  return rewrite_pairs(text, first, second, [](char32_t x, char32_t y, std::u32string& out) {
    out.append({x, U' ', y, U' '});
  });
}

// "xy" -> " x y".
template <class First, class Second>
std::u32string isolate_first(std::u32string_view text, First first, Second second) {
  return rewrite_pairs(text, first, second, [](char32_t x, char32_t y, std::u32string& out) {
    out.append({U' ', x, U' ', y});
  });
}

template <class Test>
std::u32string remove(std::u32string_view text, Test test) {
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text)
    if (!test(c)) out.push_back(c);
  return out;
}

// Every from becomes to. One pass, so a long line of many matches stays linear.
std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to);

// &quot; &amp; &lt; &gt;, in this order: "&amp;lt;" becomes "<".
std::u32string unescape_xml(std::u32string text);

}  // namespace attend::metrics
