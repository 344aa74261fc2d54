// Learns a byte-level BPE vocabulary from raw text (Sennrich et al. 2016, algorithm 1; bytes: Radford et al. 2019):
// the most frequent pair of neighbours becomes a token, again and again. The same text gives the same merges as
// Hugging Face's trainer with ByteLevel(add_prefix_space=False) and its alphabet: the highest count first, then the
// smaller ids.
//
//   BpeTrainer trainer({.vocabulary_size = 8000});
//   trainer.add_file("train.en");
//   trainer.add_file("train.fr.gz");
//   write_file("tokenizer.json", to_tokenizer_json(trainer.train()));
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/thread_pool.h"
#include "attend/text/learn/word_counts.h"
#include "attend/text/vocabulary.h"

namespace attend::text {

struct BpeTrainerOptions {
  std::size_t vocabulary_size = 32000;  // special tokens and the 256 bytes included
  std::uint64_t min_frequency = 2;      // rarer pairs are not joined
  std::vector<std::string> special_tokens = {"<pad>", "<s>", "</s>", "<unk>"};  // the first ids
  WordCountOptions words = {};
  int threads = 0;  // 0: all cores. Any number gives the same vocabulary
  // Called now and then with how many tokens there are.
  std::function<void(std::size_t tokens)> on_progress = {};
};

struct TrainedBpe {
  std::vector<std::string> tokens;  // by id, bytes as printable characters
  std::vector<std::pair<TokenId, TokenId>> merges;
  std::size_t special_tokens = 0;  // the first so many
  bool add_prefix_space = false;
};

class BpeTrainer {
 public:
  explicit BpeTrainer(BpeTrainerOptions options);

  void add_file(const std::filesystem::path& path);  // plain or gzip
  void add_text(std::string_view lines) { counter_.add(lines); }

  std::uint64_t lines() const { return counter_.lines(); }
  std::uint64_t invalid_lines() const { return counter_.invalid_lines(); }

  // Fewer tokens than asked for come out when the text has no more pairs.
  TrainedBpe train();

 private:
  BpeTrainerOptions options_;
  ThreadPool pool_;
  WordCounter counter_;
};

// The file that Tokenizer::load and Hugging Face's tokenizers read.
std::string to_tokenizer_json(const TrainedBpe& trained);

}  // namespace attend::text
