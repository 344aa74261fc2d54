#include "attend/tasks/growing_text.h"

#include <algorithm>

namespace attend::tasks {

namespace {

// How much of a growing text is safe to show: not half a character (which decodes to U+FFFD), and nothing that may turn
// out to be the beginning of a stop string.
std::size_t settled(const std::string& text, std::span<const std::string> stops) {
  std::size_t end = text.size();
  while (end >= 3 && text.compare(end - 3, 3, "\xEF\xBF\xBD") == 0) end -= 3;
  std::size_t held = 0;
  for (const std::string& stop : stops)
    for (std::size_t length = std::min(stop.size(), end); length > held; --length)
      if (text.compare(end - length, length, stop, 0, length) == 0) held = length;
  return end - held;
}

}  // namespace

std::size_t find_stop(std::string_view text, std::span<const std::string> stops) {
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first;
}

// Only the newest tokens are decoded at each step: a text of n would otherwise cost n² of them. What is decoded without
// those in front may begin otherwise than it does behind them (a space, half a character), so they leave the window
// only where the end of what they decode to is just what the others give alone.
bool GrowingText::add(std::span<const std::int32_t> written) {
  text_.resize(before_);
  const std::string tail = tokenizer_.decode(written.subspan(first_));
  text_ += tail;
  std::size_t longest = 0;
  for (const std::string& stop : stops_) longest = std::max(longest, stop.size());
  const std::size_t from = before_ - std::min(before_, longest);
  const std::size_t found = find_stop(std::string_view(text_).substr(from), stops_);
  stopped_ = found != std::string::npos;
  if (stopped_)
    text_.resize(from + found);
  else if (written.size() - first_ >= kWindow)
    move_window(written, tail);
  return stopped_;
}

void GrowingText::move_window(std::span<const std::int32_t> written, const std::string& tail) {
  constexpr std::string_view kBroken = "\xEF\xBF\xBD";
  const std::size_t first = written.size() - kKept;
  // A byte by itself may stand for another character with those behind it.
  if (const auto token = tokenizer_.id_to_token(written[first]); token && text::fallback_byte(*token)) return;
  const std::string rest = tokenizer_.decode(written.subspan(first));
  if (rest.empty() || rest.size() >= tail.size() || !tail.ends_with(rest) || rest.starts_with(kBroken)) return;
  const std::size_t left = tail.size() - rest.size();
  if (std::string_view(tail).substr(0, left).ends_with(kBroken)) return;
  first_ = first;
  before_ += left;
}

std::string GrowingText::take() {
  const std::size_t until = stopped_ ? text_.size() : settled(text_, stops_);
  if (until <= shown_) return {};
  std::string piece = text_.substr(shown_, until - shown_);
  shown_ = until;
  return piece;
}

std::string GrowingText::take_rest() {
  std::string piece = shown_ < text_.size() ? text_.substr(shown_) : "";
  shown_ = std::max(shown_, text_.size());
  return piece;
}

}  // namespace attend::tasks
