#include "attend/cli/encoder_command.h"

#include <unistd.h>

#include <fstream>
#include <iostream>

#include "attend/base/error.h"
#include "attend/cli/flags.h"

namespace attend {

namespace {

constexpr std::int64_t kWindow = 16;  // batches that are sorted by length together

}  // namespace

void add_encoder_flags(Flags& flags, EncoderFlags& options, const std::string& kind) {
  flags.add("--model", options.model, "folder of a BERT, RoBERTa or DistilBERT " + kind).required();
  add_device_flags(flags, options);
  add_weights_flag(flags, options);
  flags.add("--json", options.json, "one JSON object a line");
}

void add_line_flags(Flags& flags, EncoderFlags& options) {
  flags.add("files", options.files, "text, one a line; standard input when there is none");
  flags.add("--batch", options.batch, "lines computed together");
}

void for_each_window(
    const EncoderFlags& options, const Streams& streams,
    const std::function<void(std::span<const std::string> lines, const tasks::EncoderBatching& batching)>& run) {
  check(options.batch >= 1, "--batch must be at least 1, not {}", options.batch);
  const bool typed = options.files.empty() && streams.in.rdbuf() == std::cin.rdbuf() && isatty(STDIN_FILENO);
  const auto window = static_cast<std::size_t>(typed ? 1 : options.batch * kWindow);
  tasks::EncoderBatching batching{
      .batch = options.batch, .warn = [&](std::string_view message) { streams.err << "attend: " << message << '\n'; }};
  std::vector<std::string> lines;
  const auto flush = [&] {
    if (lines.empty()) return;
    run(lines, batching);
    streams.out.flush();
    batching.first_line += static_cast<std::int64_t>(lines.size());
    lines.clear();
  };
  const auto read = [&](std::istream& in, const std::string& name) {
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      lines.push_back(std::move(line));
      if (lines.size() == window) flush();
    }
    check(!in.bad(), "cannot read {}", name);
  };
  if (options.files.empty()) read(streams.in, "standard input");
  for (const std::string& path : options.files) {
    std::ifstream file(path, std::ios::binary);
    check(file.is_open(), "cannot open {}", path);
    read(file, path);
  }
  flush();
}

}  // namespace attend
