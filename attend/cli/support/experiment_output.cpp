#include "attend/cli/support/experiment_output.h"

#include "attend/cli/support/command_files.h"

namespace attend::cli {

void list_output_flags(Flags& flags, ExperimentOutput& output) {
  flags.add("--svg", output.svg, "Write the figure as SVG.");
  flags.add("--png", output.png, "Write the figure as PNG.");
  flags.add("--json", output.json, "Print one JSON object.");
  add_figure_flags(flags, output.figure);
}

OutputFiles opened(const ExperimentOutput& output, const Streams& streams) {
  return OutputFiles(
      command_files(streams, {.outputs = {{"--svg", output.svg}, {"--png", output.png}}, .reads_lines = false}));
}

void write_figure_files(const ExperimentOutput& output, OutputFiles& files, const view::Figure& figure) {
  if (!output.svg.empty()) files.write(output.svg, svg_of(figure, output.figure));
  if (!output.png.empty()) files.write(output.png, png_of(figure, output.figure));
  files.commit();
}

void list_training_flags(Flags& flags, TrainingFlags& training) {
  flags.add("--seed", training.seed, "Random seed.");
  flags.add("--device", training.device, "Device: cpu, cuda or cuda:N.");
  flags.add("--threads", training.threads, "CPU threads; 0 means one per core.").between(0, 1024);
}

std::function<void(std::int64_t)> step_report(const Streams& streams, std::int64_t total) {
  const auto progress = std::make_shared<Progress>(
      streams.err, Progress::Options{.label = "training", .total = total, .terminal = streams.err_terminal});
  return [progress](std::int64_t done) { progress->update(done); };
}

}  // namespace attend::cli
