#include "attend/data/text/token_lines.h"

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::data {

namespace {

constexpr std::int32_t kNoLabel = -100;

}  // namespace

TokenLines::TokenLines(const TokenStream& stream, const LineTokens& tokens) : stream_(stream), tokens_(tokens) {
  for (std::int64_t i = 0; i < stream.size(); ++i)
    if (stream[i] == tokens.end) ends_.push_back(i);
  check(!ends_.empty(), "training: the text has no line");
}

void TokenLines::add(std::int64_t line, std::int64_t length, TokenWindows& windows) const {
  const bool there = line < count();
  const std::int64_t begin = !there || line == 0 ? 0 : ends_[static_cast<std::size_t>(line - 1)] + 1;
  const std::int64_t last = there ? ends_[static_cast<std::size_t>(line)] : begin - 1;
  std::int64_t guessed = begin;  // from here on
  for (std::int64_t i = last; tokens_.prompt_end >= 0 && i >= begin && guessed == begin; --i)
    if (stream_[i] == tokens_.prompt_end) guessed = i + 1;
  for (std::int64_t i = 0; i < length; ++i) {
    windows.ids.push_back(i > 0 && begin + i - 1 < last ? stream_[begin + i - 1] : tokens_.end);
    windows.labels.push_back(begin + i >= guessed && begin + i <= last ? stream_[begin + i] : kNoLabel);
  }
}

TokenWindows TokenLines::random(std::int64_t rows, std::int64_t length, std::uint64_t seed, std::uint64_t batch) const {
  TokenWindows windows;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Random4 words =
        philox(seed, 0x7013u, batch * static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(row));
    const std::uint64_t drawn = static_cast<std::uint64_t>(words.word[0]) << 32 | words.word[1];
    add(static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(count())), length, windows);
  }
  stream_.check_whole();
  return windows;
}

TokenWindows TokenLines::at(std::int64_t first, std::int64_t rows, std::int64_t length) const {
  TokenWindows windows;
  for (std::int64_t line = first; line < first + rows; ++line) add(line, length, windows);
  stream_.check_whole();
  return windows;
}

}  // namespace attend::data
