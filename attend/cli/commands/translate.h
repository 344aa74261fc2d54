// attend translate: lines of one language in, lines of another out, in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/limits.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/streams.h"
#include "attend/tasks/translator.h"

namespace attend::cli {

class Flags;

struct TranslateCommandOptions {
  std::vector<std::string> models;  // folders, or names of bundled models; none: the bundled one; several: an ensemble
  std::vector<std::string> files;   // none: standard input
  std::string output;               // empty: standard output
  bool resume = false;              // goes on with it
  tasks::TranslateOptions translate = {};
  bool alignments = false;      // word pairs behind each translation
  bool json = false;            // an object a line
  bool show_attention = false;  // heat maps in the terminal
  bool tokens = false;          // images of tokens instead of words
  std::string attention_json, attention_svg;
  std::int64_t max_line = static_cast<std::int64_t>(limits::kLongestLine);
  bool unbuffered = false;  // every line is answered before the next is read
  DeviceFlags device = {};
};

void run_translate(const TranslateCommandOptions& options, const Streams& streams);
void add_translate_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
