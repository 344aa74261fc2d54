// The log of a run: one JSON object a line, appended as the run goes on. A resumed run first drops the lines of steps
// it is about to repeat.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "attend/base/json.h"

namespace attend::train {

class RunLog {
 public:
  // Keeps the lines up to and including this step.
  RunLog(const std::filesystem::path& path, std::int64_t step);
  void add(const Json& line);

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace attend::train
