// What a command reads and writes, for OutputFiles.
#pragma once

#include <string>
#include <vector>

#include "attend/base/output_files.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

struct CommandFiles {
  std::vector<OutputFiles::Named> outputs = {};
  std::vector<std::string> files = {};  // that are read
  std::string model = {}, beside = {};  // folders; of these only what a model is made of is read
  bool reads_lines = true;              // of standard input, where no file is given
};
OutputFiles::Options command_files(const Streams& streams, CommandFiles command);

}  // namespace attend::cli
