#include "attend/cli/support/encoder_command.h"

#include <fmt/core.h>

#include <optional>
#include <ostream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/base/terminal.h"
#include "attend/catalogue/catalogue.h"
#include "attend/cli/support/command_files.h"
#include "attend/cli/support/flags.h"
#include "attend/cli/support/line_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/cli/support/shared_windows.h"

namespace attend::cli {

namespace {

constexpr std::int64_t kWindow = 16;  // batches that are sorted by length together

}  // namespace

void add_encoder_flags(Flags& flags, EncoderFlags& options, const std::string& kind) {
  add_model_flag(flags, options.model,
                 fmt::format("Model folder ({}) {}", catalogue::types_of(catalogue::Task::embed), kind))
      .required();
  add_device_flags(flags, options);
  add_weights_flag(flags, options);
  flags.add("--json", options.json, "Print one JSON object per line.");
}

void add_line_flags(Flags& flags, EncoderFlags& options) {
  flags.add(
      "files", options.files,
      "Text files, one input per line; standard input by default. For an image model: images or folders of images.");
  add_batch_flag(flags, options.batch, "Lines per batch.");
  add_output_flags(flags, options.output, options.resume, "the results");
  add_max_line_flag(flags, options.max_line);
}

OutputFiles::Options line_outputs(const EncoderFlags& options, const Streams& streams,
                                  std::vector<OutputFiles::Named> more) {
  if (options.output != "-") more.push_back({"--output", options.output});
  return command_files(streams, {.outputs = std::move(more), .files = options.files, .model = options.model});
}

void for_each_window(const EncoderFlags& options, const Streams& streams, Json asked, const AnswerWindow& run) {
  const OutputFiles refusals(line_outputs(options, streams));
  LineInput input({.files = options.files, .max_line = options.max_line}, streams.in);
  const std::int64_t window = input.typed() ? 1 : options.batch * kWindow;
  tasks::EncoderBatching batching{.batch = options.batch, .warn = [&](std::string_view message) {
                                    streams.err << "attend: " << printable(message) << '\n';
                                  }};
  asked["json"] = options.json;
  asked["dtype"] = options.dtype;
  asked["weights"] = options.weights;
  SharedWindows shared(streams, {.files = options.files,
                                 .output = options.output,
                                 .resume = options.resume,
                                 .window = window,
                                 .model = options.model,
                                 .asked = std::move(asked)});
  if (shared.complete()) return;
  std::optional<Progress> progress;  // of a large job: one line now and then
  if (streams.world->size() > 1 && streams.world->is_root())
    progress.emplace(streams.err, Progress::Options{.label = "lines",
                                                    .total = input.count_lines(),
                                                    .start = shared.written(),
                                                    .terminal = streams.err_terminal});
  shared.run([&] {
    batching.first_line += shared.skip(input);
    for (auto lines = input.next_lines(window); !lines.empty(); lines = input.next_lines(window)) {
      if (shared.mine()) run(lines, batching, shared.out());
      shared.next(lines.size());
      if (progress) progress->update(batching.first_line + static_cast<std::int64_t>(lines.size()) - 1);
      batching.first_line += static_cast<std::int64_t>(lines.size());
    }
    shared.finish();
  });
  if (progress) progress->finish();
}

}  // namespace attend::cli
