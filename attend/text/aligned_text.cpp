#include "attend/text/aligned_text.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend::text {

std::u32string to_characters(std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) characters.push_back(next_character(text, at));
  return characters;
}

std::string to_utf8(std::u32string_view characters) {
  std::string text;
  text.reserve(characters.size());
  for (char32_t c : characters) append_utf8(text, c);
  return text;
}

AlignedText::AlignedText(std::string_view text, std::uint32_t first, TextBudget& budget)
    : characters_(to_characters(text)), budget_(&budget) {
  original_ = characters_.size();
  spans_.resize(characters_.size());
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const auto at = first + static_cast<std::uint32_t>(i);
    spans_[i] = {at, at + 1};
  }
}

void AlignedText::assign(std::u32string characters, std::vector<Span> spans) {
  check_growth(characters.size(), original_);
  characters_ = std::move(characters);
  spans_ = std::move(spans);
}

void AlignedText::transform(const std::vector<ChangedCharacter>& changes, std::size_t dropped) {
  check_growth(changes.size(), original_);
  std::u32string characters;
  std::vector<Span> spans;
  characters.reserve(changes.size());
  spans.reserve(changes.size());
  const Span start = spans_.empty() ? Span{} : Span{spans_[0].begin, spans_[0].begin};
  std::size_t at = dropped;  // the old character that comes next
  for (const auto& [character, change] : changes) {
    characters.push_back(character);
    if (change > 0) {
      spans.push_back(at == 0 ? start : spans_[std::min(at, spans_.size()) - 1]);
    } else {
      spans.push_back(at < spans_.size() ? spans_[at] : start);
      at += 1 + static_cast<std::size_t>(-change);
    }
  }
  characters_ = std::move(characters);
  spans_ = std::move(spans);
}

void AlignedText::filter(const std::function<bool(char32_t)>& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < characters_.size(); ++i) {
    if (!keep(characters_[i])) continue;
    characters_[kept] = characters_[i];
    spans_[kept++] = spans_[i];
  }
  characters_.resize(kept);
  spans_.resize(kept);
}

void AlignedText::prepend(std::u32string_view text) {
  if (empty()) return;
  check_growth(characters_.size() + text.size(), original_);
  spans_.insert(spans_.begin(), text.size(), spans_[0]);
  characters_.insert(0, text);
}

void AlignedText::replace(std::u32string_view pattern, std::u32string_view content) {
  if (pattern.empty()) return;
  std::vector<Range> ranges;
  for (std::size_t at = characters_.find(pattern); at != characters_.npos;
       at = characters_.find(pattern, at + pattern.size()))
    ranges.push_back({at, at + pattern.size()});
  replace(ranges, content);
}

void AlignedText::replace(const std::vector<Range>& ranges, std::u32string_view content) {
  if (ranges.empty()) return;
  std::u32string characters;
  std::vector<Span> spans;
  std::size_t at = 0;
  const auto keep = [&](std::size_t end) {
    characters.append(characters_, at, end - at);
    spans.insert(spans.end(), spans_.begin() + static_cast<std::ptrdiff_t>(at),
                 spans_.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (const auto& [begin, end] : ranges) {
    keep(begin);
    characters.append(content);
    spans.insert(spans.end(), content.size(), spans_[end - 1]);
    check_growth(characters.size(), original_);
    at = end;
  }
  keep(characters_.size());
  characters_ = std::move(characters);
  spans_ = std::move(spans);
}

}  // namespace attend::text
