#include "attend/cli/encoder_command.h"

#include <ostream>

#include "attend/base/error.h"
#include "attend/base/terminal.h"
#include "attend/cli/flags.h"
#include "attend/cli/line_input.h"
#include "attend/cli/model_flag.h"
#include "attend/cli/shared_windows.h"

namespace attend {

namespace {

constexpr std::int64_t kWindow = 16;  // batches that are sorted by length together

}  // namespace

void add_encoder_flags(Flags& flags, EncoderFlags& options, const std::string& kind) {
  add_model_flag(flags, options.model, "folder of a model: BERT, RoBERTa or DistilBERT " + kind).required();
  add_device_flags(flags, options);
  add_weights_flag(flags, options);
  flags.add("--json", options.json, "one JSON object a line");
}

void add_line_flags(Flags& flags, EncoderFlags& options) {
  flags.add(
      "files", options.files,
      "text, one per line; standard input when there is none. Of a model for pictures: pictures, and folders of them");
  flags.add("--batch", options.batch, "lines computed together");
  add_max_line_flag(flags, options.max_line);
}

void for_each_window(
    const EncoderFlags& options, const Streams& streams,
    const std::function<void(std::span<const std::string> lines, const tasks::EncoderBatching& batching)>& run) {
  check(options.batch >= 1, "--batch must be at least 1, not {}", options.batch);
  LineInput input({.files = options.files, .max_line = options.max_line}, streams.in);
  const std::int64_t window = input.typed() ? 1 : options.batch * kWindow;
  tasks::EncoderBatching batching{.batch = options.batch, .warn = [&](std::string_view message) {
                                    streams.err << "attend: " << printable(message) << '\n';
                                  }};
  SharedWindows shared(streams, options.files);
  for (auto lines = input.next_lines(window); !lines.empty(); lines = input.next_lines(window)) {
    if (shared.mine()) run(lines, batching);
    shared.next();
    batching.first_line += static_cast<std::int64_t>(lines.size());
  }
  shared.finish();
}

}  // namespace attend
