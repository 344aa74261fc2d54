// Lines as texts of their own: a stream of tokens with a token behind every line (TokenStreamFiles::line_end), and
// windows of it that each hold one line from its beginning.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/data/text/token_stream.h"

namespace attend::data {

// The tokens that say what a line is.
struct LineTokens {
  std::int32_t end = -1;         // behind every line
  std::int32_t prompt_end = -1;  // up to the last one of a line and with it nothing is to be guessed; -1: all is
};

class TokenLines {
 public:
  // The stream must outlive it.
  TokenLines(const TokenStream& stream, const LineTokens& tokens);

  std::int64_t count() const { return static_cast<std::int64_t>(ends_.size()); }
  // Each row is the end of a line, which says that one begins, and a line; what is to be guessed is the line and its
  // end. Places behind it count for nothing; of a line that has no room the rest is left out.
  // Those of batch number `batch` are a pure function of seed, batch and row.
  TokenWindows random(std::int64_t rows, std::int64_t length, std::uint64_t seed, std::uint64_t batch) const;
  // Lines [first, first + rows), or as many as there are, and rows that count for nothing.
  TokenWindows at(std::int64_t first, std::int64_t rows, std::int64_t length) const;

 private:
  void add(std::int64_t line, std::int64_t length, TokenWindows& windows) const;

  const TokenStream& stream_;
  LineTokens tokens_;
  std::vector<std::int64_t> ends_;  // where in the stream the end of each line stands
};

}  // namespace attend::data
