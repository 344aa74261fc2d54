// attend info --cost: parameters, multiply-adds and memory of a model, from its config.json alone.
#pragma once

#include <string>

#include "attend/cli/support/streams.h"

namespace attend::cli {

struct CostOptions {
  std::string model;  // a folder, or a config.json alone
  std::string input;  // "", "512", "8x512", "224x224"
  bool json = false;
};
void run_cost(const CostOptions& options, const Streams& streams);

}  // namespace attend::cli
