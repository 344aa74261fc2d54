// Which line of attend computes what: the table of source_lines.txt with the numbers the lines have in this build.
#pragma once

#include <span>
#include <string_view>

namespace attend::look {

struct SourceLine {
  std::string_view name, file;
  int line = 0;                // from 1
  std::string_view text = {};  // what stands in it
};

std::span<const SourceLine> source_lines();
// Throws Error when there is none of that name.
const SourceLine& source_line(std::string_view name);

}  // namespace attend::look
