// The lines of files, one after another, or of standard input: what translate, classify, tokenize and the like read.
#pragma once

#include <cstdint>
#include <fstream>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/lines.h"

namespace attend::cli {

class Flags;

struct LineInputOptions {
  std::vector<std::string> files = {};  // none: standard input
  std::int64_t max_line = static_cast<std::int64_t>(limits::kLongestLine);
  bool keeps_returns = false;
};

// --max-line
void add_max_line_flag(Flags& flags, std::int64_t& max_line);

class LineInput {
 public:
  // Throws Error when a file cannot be opened, before anything is read.
  LineInput(LineInputOptions options, std::istream& in);

  bool next(std::string& line);  // false at the end of the last file
  std::vector<std::string> next_lines(std::int64_t count);
  const std::string& name() const { return name_; }          // of the file that is being read
  std::int64_t number() const { return reader_->number(); }  // of the line in it, from 1
  // Whether a person types them, who waits for each answer.
  bool typed() const;
  // Of all files together; for a progress bar.
  std::int64_t count_lines() const;

 private:
  void open(std::size_t file);
  LineOptions line_options() const;

  LineInputOptions options_;
  std::istream& in_;
  std::ifstream file_;
  std::size_t opened_ = 0;  // files so far
  std::string name_;
  std::optional<LineReader> reader_;
};

}  // namespace attend::cli
