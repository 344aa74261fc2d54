// attend train-tokenizer: a byte-level BPE vocabulary from raw text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/cli/support/streams.h"

namespace attend::cli {

class Flags;

struct TrainTokenizerOptions {
  std::vector<std::string> files;
  std::string out = "tokenizer.json";
  std::size_t vocabulary = 8000;
  std::uint64_t min_frequency = 2;
  std::vector<std::string> special_tokens = {"<pad>", "<s>", "</s>", "<unk>"};
  bool add_prefix_space = false, line_ends = false;
  int threads = 0;
};

void run_train_tokenizer(const TrainTokenizerOptions& options, const Streams& streams);
void add_train_tokenizer_command(Flags& program, const Streams& streams);

}  // namespace attend::cli
