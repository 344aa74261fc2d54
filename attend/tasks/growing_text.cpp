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

bool GrowingText::add(std::span<const std::int32_t> written) {
  text_ = tokenizer_.decode(written);
  const std::size_t found = find_stop(text_, stops_);
  stopped_ = found != std::string::npos;
  if (stopped_) text_.resize(found);
  return stopped_;
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
