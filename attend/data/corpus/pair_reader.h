// Parallel text as a stream: line n of one file is the translation of line n of the other. Files may be gzip. A few
// lines that are not UTF-8 are for the reader to drop; a file of them is an error.
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

// Lines that are not UTF-8: how many, and which is the first.
struct InvalidLines {
  std::int64_t first = 0, count = 0;
};

class PairReader {
 public:
  explicit PairReader(PairFiles files);  // throws Error when they are the same file

  // The next pair, valid until the next call; false at the end. Throws Error where one file ends before the other,
  // where a file is empty, and at the end when many lines of a file are not UTF-8.
  bool next(PairView& pair);
  std::int64_t count() const { return count_; }  // pairs read so far

 private:
  PairFiles files_;
  CorpusLines source_, target_;
  InvalidLines invalid_source_, invalid_target_;
  std::int64_t count_ = 0;
};

// Reads parallel text to its end, before anything is computed from it, and throws Error for all that PairReader
// refuses. It takes two seconds a gigabyte.
void check_pairs(const PairFiles& files);

}  // namespace attend::data
