#include "attend/decode/prompt_lookup.h"

namespace attend::decode {

Guess PromptLookup::guess(std::span<const std::int32_t> text, std::size_t most) {
  std::size_t longest = 0, next = 0;  // next: behind the match
  for (std::size_t end = text.size() - 1; end > 0 && longest < kLongest; --end) {
    std::size_t length = 0;
    while (length < kLongest && length < end && text[end - 1 - length] == text[text.size() - 1 - length]) ++length;
    if (length > longest) longest = length, next = end;
  }
  Guess guess;
  if (longest == 0) return guess;
  guess.kind = longest - 1;
  // Behind the end of the text its guess continues, so a period that is shorter than the guess repeats.
  for (; guess.tokens.size() < most; ++next)
    guess.tokens.push_back(next < text.size() ? text[next] : guess.tokens[next - text.size()]);
  return guess;
}

}  // namespace attend::decode
