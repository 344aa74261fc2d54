// What every experiment can do besides printing its table: write its figure, print JSON, and say how far it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "attend/base/output_files.h"
#include "attend/base/progress.h"
#include "attend/cli/support/figure_flags.h"
#include "attend/cli/support/flags.h"
#include "attend/cli/support/streams.h"
#include "attend/view/figure.h"

namespace attend::cli {

struct ExperimentOutput {
  std::string svg, png;
  bool json = false;
  FigureFlags figure = {};
};

void list_output_flags(Flags& flags, ExperimentOutput& output);
// Opens the files before anything is computed.
OutputFiles opened(const ExperimentOutput& output, const Streams& streams);
void write_figure_files(const ExperimentOutput& output, OutputFiles& files, const view::Figure& figure);

// Flags of experiments that train: where, and from which random numbers.
struct TrainingFlags {
  std::string device = "cpu";
  int threads = 0;
  std::uint64_t seed = 1;
};
void list_training_flags(Flags& flags, TrainingFlags& training);
// A function that reports steps of `total` as progress on the error stream.
std::function<void(std::int64_t)> step_report(const Streams& streams, std::int64_t total);

}  // namespace attend::cli
