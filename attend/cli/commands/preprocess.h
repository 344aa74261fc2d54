// attend preprocess: images as a model sees them, in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/limits.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct PreprocessOptions {
  std::string model;                // the folder of a preprocessor_config.json, or that file
  std::vector<std::string> images;  // files, and folders of them
  std::string out;
  std::string backend;  // of transformers; empty takes the file's
  bool json = false, as_stored = false;
  std::int64_t max_pixels = limits::kMostPixels;
};

void run_preprocess(const PreprocessOptions& options, const Streams& streams);
void add_preprocess_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
