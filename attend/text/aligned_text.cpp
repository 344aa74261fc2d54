#include "attend/text/aligned_text.h"

#include <algorithm>

#include "attend/base/unicode.h"

namespace attend {

std::u32string to_characters(std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) characters.push_back(next_character(text, at));
  return characters;
}

AlignedText::AlignedText(std::string_view text, std::uint32_t first) : characters_(to_characters(text)) {
  spans_.resize(characters_.size());
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const auto at = first + static_cast<std::uint32_t>(i);
    spans_[i] = {at, at + 1};
  }
}

void AlignedText::transform(const std::vector<ChangedCharacter>& changes, std::size_t dropped) {
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
  spans_.insert(spans_.begin(), text.size(), spans_[0]);
  characters_.insert(0, text);
}

void AlignedText::replace(std::u32string_view pattern, std::u32string_view content) {
  std::size_t found = pattern.empty() ? std::u32string::npos : characters_.find(pattern);
  if (found == std::u32string::npos) return;
  std::u32string characters;
  std::vector<Span> spans;
  std::size_t at = 0;
  for (; found != std::u32string::npos; found = characters_.find(pattern, at)) {
    characters.append(characters_, at, found - at).append(content);
    spans.insert(spans.end(), spans_.begin() + static_cast<std::ptrdiff_t>(at),
                 spans_.begin() + static_cast<std::ptrdiff_t>(found));
    at = found + pattern.size();
    spans.insert(spans.end(), content.size(), spans_[at - 1]);
  }
  characters.append(characters_, at);
  spans.insert(spans.end(), spans_.begin() + static_cast<std::ptrdiff_t>(at), spans_.end());
  characters_ = std::move(characters);
  spans_ = std::move(spans);
}

}  // namespace attend
