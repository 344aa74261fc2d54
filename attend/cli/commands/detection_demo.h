// A scene that attend draws itself, through the DETR we ship: what is where in it, and where each box's query looked.
#pragma once

#include <cstdint>
#include <string>

#include "attend/cli/support/streams.h"

namespace attend::cli {

struct DetectionDemoOptions {
  std::string device = "cpu";
  int threads = 0;
  std::uint64_t seed = 1;  // which scene
};

void run_detection_demo(const DetectionDemoOptions& options, const Streams& streams);

}  // namespace attend::cli
