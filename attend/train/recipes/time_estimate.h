// About how long a run will take, said before its first step.
#pragma once

#include <cstdint>
#include <string>

#include "attend/base/dtype.h"

namespace attend {
class Backend;
}

namespace attend::train {

struct WorkOfRun {
  std::int64_t steps = 0;
  double minutes = 0;    // above 0: it ends then, after however many steps
  bool goes_on = false;  // a run that was stopped: steps and minutes are what is left of it
  std::int64_t weights = 0;
  std::int64_t tokens = 0;  // that go through them in a step, or patches; 0: nobody knows
};

// A forward and a backward pass take 6 operations a weight and token (Kaplan et al. 2020, section 2.1). How many a
// second is found by a product of the size such models have. Seconds; 0 where there is nothing to go by: of other
// devices than a CPU, which wait for nothing while they count.
double estimated_seconds(const WorkOfRun& work, Backend& backend, DType dtype);

// Operations of training a second, as far as a product tells.
double training_speed(Backend& backend, DType dtype);

// "1,000 steps will take roughly 3 min here"; of a long run a warning with what to change. Of a run by the clock how
// many steps fit into its time. seconds: of all steps; empty without an estimate.
std::string time_text(const WorkOfRun& work, double seconds);

}  // namespace attend::train
