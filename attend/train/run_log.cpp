#include "attend/train/run_log.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "attend/base/error.h"
#include "attend/base/files.h"

namespace attend::train {

RunLog::RunLog(const std::filesystem::path& path, std::int64_t step) : path_(path) {
  std::string kept;
  if (step > 0 && std::filesystem::exists(path)) {
    std::istringstream lines(read_file(path));
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line, nullptr, false);  // the last line may be cut off
      if (json.is_object() && json.contains("step") && json["step"].is_number_integer() && json["step"] <= step)
        kept += line + '\n';
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
