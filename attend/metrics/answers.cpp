#include "attend/metrics/answers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "attend/base/unicode/unicode.h"

namespace attend::metrics {

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool ascii_punctuation(char32_t c) {
  return (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) || (c >= 0x7B && c <= 0x7E);
}

double f1_of(std::string_view predicted, std::string_view truth) {
  const std::vector<std::string> said = words_of(normalized_answer(predicted)),
                                 meant = words_of(normalized_answer(truth));
  if (said.empty() || meant.empty()) return said.empty() && meant.empty() ? 1 : 0;
  std::map<std::string, int> left;
  for (const std::string& word : meant) ++left[word];
  double common = 0;
  for (const std::string& word : said)
    if (left[word]-- > 0) ++common;
  return 2 * common / static_cast<double>(said.size() + meant.size());
}

}  // namespace

std::string normalized_answer(std::string_view answer) {
  std::string small;
  for (std::size_t at = 0; at < answer.size();) {
    const char32_t c = next_character(answer, at);
    if (c == kInvalidCharacter) {
      ++at;
      continue;
    }
    if (has_property(c, Property::white_space))
      small += ' ';
    else if (!ascii_punctuation(c))
      append_utf8(small, lower_character(c));
  }
  std::string text;
  for (const std::string& word : words_of(small))
    if (word != "a" && word != "an" && word != "the") text += (text.empty() ? "" : " ") + word;
  return text;
}

double exact_match(std::string_view predicted, std::span<const std::string> truths) {
  const std::string said = normalized_answer(predicted);
  return std::ranges::any_of(truths, [&](const std::string& truth) { return normalized_answer(truth) == said; }) ? 1
                                                                                                                 : 0;
}

double answer_f1(std::string_view predicted, std::span<const std::string> truths) {
  double best = 0;
  for (const std::string& truth : truths) best = std::max(best, f1_of(predicted, truth));
  return best;
}

}  // namespace attend::metrics
