// The classic first image: a small Transformer learns to reverse digits and shows which one it looked at for each it
// wrote.
#pragma once

#include <cstdint>
#include <string>

#include "attend/cli/support/streams.h"
#include "attend/experiments/digit_task.h"

namespace attend::cli {

using experiments::DigitTask;

struct DigitDemoOptions {
  DigitTask task = DigitTask::reverse;
  std::string digits = "31415926";
  std::int64_t steps = 600;
  std::string device = "cpu";
  int threads = 0;
  std::uint64_t seed = 1;
};

void run_digit_demo(const DigitDemoOptions& options, const Streams& streams);

}  // namespace attend::cli
