#include "attend/train/run_log.h"

#include <sstream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"

namespace attend::train {

namespace {

// Of a line of the log; beyond any step when it was cut off, as the last one may be.
std::int64_t step_of(const std::string& line) {
  try {
    return parse_json(line, "log").at("step").get<std::int64_t>();
  } catch (const Error&) {
    return INT64_MAX;
  }
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& path, std::int64_t step) : path_(path) {
  std::string kept;
  if (step > 0 && std::filesystem::exists(path)) {
    std::istringstream lines(read_file(path));
    for (std::string line; std::getline(lines, line);) {
      if (step_of(line) <= step) kept += line + '\n';
    }
  }
  write_file(path, kept);
  out_.open(path, std::ios::app);
  check(static_cast<bool>(out_), "cannot write '{}'", path.string());
}

void RunLog::add(const Json& line) {
  out_ << line.dump() << '\n' << std::flush;
  check(static_cast<bool>(out_), "cannot write '{}': is the disk full?", path_.string());
}

}  // namespace attend::train
