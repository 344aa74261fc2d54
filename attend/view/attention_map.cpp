#include "attend/view/attention_map.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"

namespace attend::view {

namespace {

bool opens_with_space(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && has_property(next_character(text, at), Property::white_space);
}

std::string without_space(std::string_view text) {
  std::string result;
  std::string waiting;  // white space that is dropped unless something follows it
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) ++at;
    if (c != kInvalidCharacter && has_property(c, Property::white_space)) {
      if (!result.empty()) waiting += text.substr(begin, at - begin);
      continue;
    }
    result += waiting;
    waiting.clear();
    result += text.substr(begin, at - begin);
  }
  return result;
}

struct Words {
  std::vector<std::string> labels;
  std::vector<std::size_t> of;  // each piece's word
  std::vector<std::size_t> pieces;
};

Words words_of(const std::vector<std::string>& pieces) {
  Words words;
  for (const std::string& piece : pieces) {
    if (words.labels.empty() || opens_with_space(piece)) words.labels.emplace_back(), words.pieces.push_back(0);
    words.labels.back() += piece;
    ++words.pieces.back();
    words.of.push_back(words.labels.size() - 1);
  }
  for (std::string& label : words.labels) label = without_space(label);
  return words;
}

}  // namespace

void check_map(const AttentionMap& map) {
  check(map.weights.size() == map.target.size() * map.source.size(), "attention: {} weights for {} words by {}",
        map.weights.size(), map.target.size(), map.source.size());
}

AttentionMap merge_words(const AttentionMap& map) {
  check_map(map);
  Words source = words_of(map.source), target = words_of(map.target);
  const std::size_t columns = source.labels.size();
  std::vector<float> weights(target.labels.size() * columns, 0.0f);
  for (std::size_t t = 0; t < map.target.size(); ++t)
    for (std::size_t s = 0; s < map.source.size(); ++s)
      weights[target.of[t] * columns + source.of[s]] +=
          map.weights[t * map.source.size() + s] / static_cast<float>(target.pieces[target.of[t]]);
  return {std::move(source.labels), std::move(target.labels), std::move(weights)};
}

AttentionMap trimmed(const AttentionMap& map) {
  check_map(map);
  AttentionMap result = map;
  for (auto* labels : {&result.source, &result.target})
    for (std::string& label : *labels) {
      std::string text = without_space(label);
      const bool space = text.empty() && (!label.empty() || &label == &labels->front());  // the first lost its own
      label = space ? "\u2423" : std::move(text);
    }
  return result;
}

std::vector<std::pair<std::size_t, std::size_t>> align(const AttentionMap& words, const std::string& skipped) {
  check_map(words);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t t = 0; t < words.target.size(); ++t) {
    if (words.target[t] == skipped) continue;
    const float* row = words.weights.data() + t * words.source.size();
    std::optional<std::size_t> best;
    for (std::size_t s = 0; s < words.source.size(); ++s)
      if (words.source[s] != skipped && (!best || row[s] > row[*best])) best = s;
    if (best) pairs.emplace_back(*best, t);
  }
  return pairs;
}

std::string to_pharaoh(const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  std::string text;
  for (const auto& [source, target] : pairs) text += fmt::format("{}{}-{}", text.empty() ? "" : " ", source, target);
  return text;
}

}  // namespace attend::view
