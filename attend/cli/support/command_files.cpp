#include "attend/cli/support/command_files.h"

#include <iostream>
#include <utility>

#include "attend/tasks/model_folder.h"

namespace attend::cli {

OutputFiles::Options command_files(const Streams& streams, CommandFiles command) {
  if (!streams.world->is_root()) return {};  // the first of several processes writes, and knows its file system
  OutputFiles::Options options{
      .outputs = std::move(command.outputs),
      .reads_standard_input = command.reads_lines && command.files.empty() && streams.in.rdbuf() == std::cin.rdbuf(),
      .writes_standard_output = streams.out.rdbuf() == std::cout.rdbuf()};
  options.inputs.assign(command.files.begin(), command.files.end());
  for (const std::string& folder : {command.model, command.beside}) {
    if (folder.empty()) continue;
    const auto files = tasks::model_files(folder);
    options.inputs.insert(options.inputs.end(), files.begin(), files.end());
  }
  return options;
}

}  // namespace attend::cli
