#include "attend/train/loop/run_log.h"

#include <sstream>

#include "attend/base/error.h"

namespace attend::train {

namespace {

// Whether a line is of a step that stays. The last one may have been cut off, and that of the average is of an end
// that the run will come to again.
bool stays(const std::string& line, std::int64_t step) {
  try {
    const Json json = parse_json(line, "log");
    return json.at("step").get<std::int64_t>() <= step && !json.contains("averaged");
  } catch (const Error&) {
    return false;
  }
}

std::string kept_lines(const RunFolder& folder, const std::string& name, std::int64_t step) {
  std::string kept;
  std::error_code error;
  if (step == 0 || !std::filesystem::exists(folder.path() / name, error)) return kept;
  std::istringstream lines(read_file(folder.path() / name));
  for (std::string line; std::getline(lines, line);)
    if (stays(line, step)) kept += line + '\n';
  return kept;
}

}  // namespace

RunLog::RunLog(RunFolder& folder, const std::string& name, std::int64_t step)
    : file_(folder.append(name, kept_lines(folder, name, step))) {}

}  // namespace attend::train
