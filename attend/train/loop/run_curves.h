// The curves of a run for other programs, beside log.jsonl and from the same lines: TensorBoard's event file, and a
// table "step,seconds,curve,value". A resumed run drops the steps it is about to repeat.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attend/base/json.h"
#include "attend/train/loop/run_folder.h"

namespace attend::train {

inline constexpr const char* kEventFile = "events.out.tfevents";
inline constexpr const char* kCurveTable = "curves.csv";

class RunCurves {
 public:
  RunCurves(RunFolder& folder, std::int64_t step);
  // A line of the log: every number in it is a point of a curve, train/loss or validation/bleu.
  void add(const Json& line);
  // Appends what was added since, before the state that it belongs to is saved.
  void write();

 private:
  AppendedFile events_, table_;
  std::string new_events_, new_rows_;
};

}  // namespace attend::train
