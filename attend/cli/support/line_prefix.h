// The first lines of files, one file after another, and a hash of them: whether an input still begins with what was
// answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/file_mark.h"
#include "attend/base/mapped_file.h"

namespace attend::cli {

class LinePrefix {
 public:
  explicit LinePrefix(std::vector<std::string> files) : files_(std::move(files)) {}

  // So many lines further. False: there are fewer.
  bool advance(std::int64_t lines);
  bool at_end();
  std::string hash() const;  // of the lines so far; a last line without a line feed is as good as one with it

 private:
  bool open_next();

  std::vector<std::string> files_;
  std::size_t opened_ = 0, at_ = 0;  // files; the place in the last of them
  std::optional<MappedFile> file_;
  ByteHash hash_;
};

}  // namespace attend::cli
