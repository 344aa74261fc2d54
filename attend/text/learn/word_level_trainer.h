// Learns the words of a text, lower-cased and without punctuation, as the vocabulary of a tokenizer.json with a token a
// word: enough for captions, whose words are few.
//
//   WordLevelTrainer trainer({.least = 5});
//   trainer.add_text("A dog runs .\n");
//   write_file("tokenizer.json", trainer.train());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "attend/base/thread_pool.h"
#include "attend/text/learn/word_counts.h"

namespace attend::text {

class Normalizer;
class PreTokenizer;

struct WordLevelTrainerOptions {
  std::uint64_t least = 5;    // rarer words are unknown
  std::size_t most = 100000;  // words, the most frequent
  int threads = 0;            // 0: all cores. Any number gives the same vocabulary
};

class WordLevelTrainer {
 public:
  explicit WordLevelTrainer(WordLevelTrainerOptions options);
  ~WordLevelTrainer();

  void add_text(std::string_view lines) { counter_.add(lines); }
  // The file that Tokenizer::load and Hugging Face's tokenizers read: <pad>, <s>, </s> and <unk>, then the words, most
  // frequent first.
  std::string train();

 private:
  void cut(std::string_view line, WordTable& words) const;

  WordLevelTrainerOptions options_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  ThreadPool pool_;
  WordCounter counter_;
};

}  // namespace attend::text
