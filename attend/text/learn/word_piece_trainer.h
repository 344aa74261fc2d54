// Learns a WordPiece vocabulary for BERT from raw text. As in Hugging Face's trainer the pieces are those of BPE
// (Sennrich et al. 2016): the most frequent pair of neighbours becomes a piece, again and again; pieces inside a word
// begin with ##. Text goes through BERT's normalizer and is cut at white space and punctuation first.
//
//   WordPieceTrainer trainer({.vocabulary_size = 8192});
//   trainer.add_file("train.txt");
//   write_file("tokenizer.json", trainer.train());
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/thread_pool.h"
#include "attend/text/learn/word_counts.h"

namespace attend::text {

class Normalizer;
class PreTokenizer;

struct WordPieceTrainerOptions {
  std::size_t vocabulary_size = 30522;  // special tokens and characters included
  std::uint64_t min_frequency = 2;      // rarer pairs are not joined
  std::size_t characters = 1000;        // the most frequent so many; words with others are unknown
  bool lowercase = true;
  int threads = 0;  // 0: all cores. Any number gives the same vocabulary
  // Called now and then with how many pieces there are.
  std::function<void(std::size_t pieces)> on_progress = {};
};

class WordPieceTrainer {
 public:
  explicit WordPieceTrainer(WordPieceTrainerOptions options);
  ~WordPieceTrainer();

  void add_file(const std::filesystem::path& path);  // plain or gzip
  void add_text(std::string_view lines) { counter_.add(lines); }
  std::uint64_t invalid_lines() const { return counter_.invalid_lines(); }

  // The pieces by id: [PAD], [UNK], [CLS], [SEP], [MASK], the characters, and what was joined. Fewer than asked for
  // come out when the text has no more pairs.
  std::vector<std::string> pieces();
  // The file with them that Tokenizer::load and Hugging Face's tokenizers read.
  std::string train();

 private:
  void cut(std::string_view line, WordTable& words) const;

  WordPieceTrainerOptions options_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  ThreadPool pool_;
  WordCounter counter_;
};

}  // namespace attend::text
