// What fill, classify, tag, answer and embed share on the command line: which model, and lines in windows.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/output_files.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/streams.h"
#include "attend/tasks/encoder_model.h"

namespace attend::cli {

class Flags;

struct EncoderFlags : DeviceFlags {
  std::string model;
  std::int64_t batch = 32;
  std::vector<std::string> files = {};
  bool json = false;
  std::string output = {};  // empty: standard output
  bool resume = false;
  std::int64_t max_line = static_cast<std::int64_t>(limits::kLongestLine);
  std::int64_t max_pixels = limits::kMostPixels;  // of models for images
};

// kind is the head, for --model's help.
void add_encoder_flags(Flags& flags, EncoderFlags& options, const std::string& kind);
// The files, --batch, --output, --resume and --max-line of commands that read lines.
void add_line_flags(Flags& flags, EncoderFlags& options);

// --output and what else the command writes, held against what it reads; before anything is loaded.
OutputFiles::Options line_outputs(const EncoderFlags& options, const Streams& streams,
                                  std::vector<OutputFiles::Named> more = {});

// Hands over the lines of the files, or of standard input, in windows of several batches. The batching has the number
// of the window's first line, and warns on err; answers go to out. A person at the keyboard gets every answer at once.
using AnswerWindow =
    std::function<void(std::span<const std::string> lines, const tasks::EncoderBatching& batching, std::ostream& out)>;
// asked: flags of the command itself that its answers depend on.
void for_each_window(const EncoderFlags& options, const Streams& streams, Json asked, const AnswerWindow& run);

}  // namespace attend::cli
