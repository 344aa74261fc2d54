// A text that is written token by token, as a reader may see it: never half a character, never the beginning of what
// may turn out to be a stop string, and nothing behind one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/tokenizer.h"

namespace attend::tasks {

// Where the first of the stop strings begins; npos when none is there.
std::size_t find_stop(std::string_view text, std::span<const std::string> stops);

class GrowingText {
 public:
  // Both must outlive it.
  GrowingText(const text::Tokenizer& tokenizer, std::span<const std::string> stops)
      : tokenizer_(tokenizer), stops_(stops) {}

  // All tokens so far, one more than the time before. True when a stop string is there.
  bool add(std::span<const std::int32_t> written);
  // What became safe to show since it was asked last; at the end, all that is left.
  std::string take();
  std::string take_rest();
  const std::string& text() const { return text_; }  // cut before a stop string

 private:
  // Tokens that are decoded anew at each step, until there are so many, and those that stay then.
  static constexpr std::size_t kWindow = 16, kKept = 4;
  void move_window(std::span<const std::int32_t> written, const std::string& tail);

  const text::Tokenizer& tokenizer_;
  std::span<const std::string> stops_;
  std::string text_;
  std::size_t first_ = 0, before_ = 0;  // of the window: its first token, and the bytes of text in front of it
  bool stopped_ = false;
  std::size_t shown_ = 0;
};

}  // namespace attend::tasks
