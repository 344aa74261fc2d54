// The log of a run: one JSON object a line, appended as the run goes on. A resumed run first drops the lines of steps
// it is about to repeat, and those of its end.
#pragma once

#include <cstdint>
#include <string>

#include "attend/base/json.h"
#include "attend/train/loop/run_folder.h"

namespace attend::train {

class RunLog {
 public:
  // Keeps the lines up to and including this step.
  RunLog(RunFolder& folder, const std::string& name, std::int64_t step);
  void add(const Json& line) { file_.add(line.dump() + '\n'); }

 private:
  AppendedFile file_;
};

}  // namespace attend::train
