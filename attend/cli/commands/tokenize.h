// attend tokenize: text to token ids and back, with the tokenizer of a model folder.
#pragma once

#include <cstdint>
#include <string>

#include "attend/base/limits.h"
#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct TokenizeOptions {
  std::string tokenizer;  // a file that Tokenizer::load takes, or its folder
  std::string input = "-";
  std::int64_t max_line = static_cast<std::int64_t>(limits::kLongestLine);
  bool json = false, decode = false;
  bool no_special_tokens = false, keep_special_tokens = false;
};

void run_tokenize(const TokenizeOptions& options, const Streams& streams);
void add_tokenize_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
