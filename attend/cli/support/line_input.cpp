#include "attend/cli/support/line_input.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/mapped_file.h"
#include "attend/base/paths.h"
#include "attend/cli/support/flags.h"

namespace attend::cli {

void add_max_line_flag(Flags& flags, std::int64_t& max_line) {
  flags.add("--max-line", max_line, "Maximum line length, in bytes.").between(1, 1 << 30);
}

LineInput::LineInput(LineInputOptions options, std::istream& in) : options_(std::move(options)), in_(in) {
  for (const std::string& path : options_.files) check(path_exists(path), "there is no file '{}'", path);
  if (!options_.files.empty()) {
    open(0);
    return;
  }
  name_ = "standard input";
  reader_.emplace(in_, line_options());
}

LineOptions LineInput::line_options() const {
  return {
      .name = name_, .longest = static_cast<std::size_t>(options_.max_line), .keeps_returns = options_.keeps_returns};
}

void LineInput::open(std::size_t file) {
  name_ = options_.files[file];
  check(!is_folder(name_), "cannot read '{}': it is a folder", name_);
  file_ = std::ifstream(name_, std::ios::binary);
  check(file_.is_open(), "cannot open '{}'", name_);
  opened_ = file + 1;
  reader_.emplace(file_, line_options());
}

bool LineInput::next(std::string& line) {
  while (!reader_->next(line)) {
    if (opened_ >= options_.files.size()) return false;
    open(opened_);
  }
  return true;
}

std::vector<std::string> LineInput::next_lines(std::int64_t count) {
  std::vector<std::string> lines;
  for (std::string line; static_cast<std::int64_t>(lines.size()) < count && next(line);)
    lines.push_back(std::move(line));
  return lines;
}

bool LineInput::typed() const {
  return options_.files.empty() && in_.rdbuf() == std::cin.rdbuf() && isatty(STDIN_FILENO);
}

std::int64_t LineInput::count_lines() const {
  std::int64_t count = 0;
  for (const std::string& path : options_.files) {
    const MappedFile file(path);
    const std::string_view text = file.text();
    count += std::count(text.begin(), text.end(), '\n') + (!text.empty() && text.back() != '\n');
  }
  return count;
}

}  // namespace attend::cli
