// Snapshots of a run for whoever watches it: what the model makes of the same few inputs, from the first step on, often
// in the beginning, when attention takes shape, and then ever less. A line each of look.jsonl in the run's folder;
// attend/look/api/run_reader.h reads them.
#pragma once

#include <cstdint>

#include "attend/train/loop/run_log.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

class Snapshots {
 public:
  // Both must outlive it. Images up to this step are kept.
  Snapshots(Task& task, const TrainerOptions& options, std::int64_t step);

  // Whether an image is due, and the time spent on them is still less than a fiftieth of the run's.
  bool wants(std::int64_t step, double elapsed) const;
  // Returns how long it took, in seconds.
  double add(std::int64_t step, double elapsed);

 private:
  Task& task_;
  Painter& painter_;
  RunLog log_;
  std::int64_t every_;    // steps, once the beginning is over
  double every_seconds_;  // the same of a run by the clock; 0 of others
  double due_ = 0;
  double spent_ = 0;  // seconds
};

}  // namespace attend::train
