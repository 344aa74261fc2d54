// An image that attend paints itself, through the captioner we ship: the sentence, and where it looked for each word.
#pragma once

#include <cstdint>
#include <string>

#include "attend/cli/support/streams.h"

namespace attend::cli {

struct DescriptionDemoOptions {
  std::string device = "cpu";
  int threads = 0;
  std::uint64_t seed = 1;  // which image
  std::string png = {};    // the figure, if named
};

void run_description_demo(const DescriptionDemoOptions& options, const Streams& streams);

}  // namespace attend::cli
