// Text from a stream: line by line, with a limit on how long one may be, or all of it. A byte order mark at the
// beginning is not text, and a file that is no text at all is an error (text_check.h). A line that never ends would
// otherwise fill the memory before anybody sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/limits.h"
#include "attend/base/text_check.h"

namespace attend {

struct LineOptions {
  std::string name = "standard input";         // in messages
  std::size_t longest = limits::kLongestLine;  // bytes of a line
  bool keeps_returns = false;                  // a carriage return at the end of a line belongs to it
};

class LineReader {
 public:
  explicit LineReader(std::istream& in, LineOptions options = {});

  // The next line without its end; false when there is none. Throws Error naming the line that is too long, the limit
  // and the flag that raises it, when the stream cannot be read, and when its beginning is no text.
  bool next(std::string& line);
  std::int64_t number() const { return number_; }  // of the line that was read last, from 1

 private:
  std::istream& in_;
  LineOptions options_;
  TextCheck check_;
  std::vector<char> piece_;
  std::int64_t number_ = 0;
};

// All of a stream or of a file. Throws Error when it has more bytes than that, or is no text.
std::string read_text(std::istream& in, std::string_view name, std::size_t most = limits::kLargestFileRead);
std::string read_text(const std::filesystem::path& path);

}  // namespace attend
