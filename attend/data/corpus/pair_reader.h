// Parallel text as a stream: line n of one file is the translation of line n of the other. Files may be gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "attend/text/text_reader.h"

namespace attend::data {

struct PairFiles {
  std::filesystem::path source, target;
};

struct PairView {
  std::string_view source, target;
};

// One file, line by line. Throws Error for a line of more than limits::kLongestLine bytes: such a file is not one
// sentence per line.
class CorpusLines {
 public:
  explicit CorpusLines(const std::filesystem::path& path);
  bool next(std::string_view& line);  // without its end, valid until the next call

 private:
  text::TextReader reader_;
  std::string name_;
  std::string_view block_;
  std::int64_t line_ = 0;
};

class PairReader {
 public:
  explicit PairReader(PairFiles files);  // throws Error when they are the same file

  // The next pair, valid until the next call; false at the end. Throws Error where one file ends before the other, and
  // where both are empty.
  bool next(PairView& pair);
  std::int64_t count() const { return count_; }  // pairs read so far

 private:
  PairFiles files_;
  CorpusLines source_, target_;
  std::int64_t count_ = 0;
};

}  // namespace attend::data
