// How often each word occurs in a corpus: the first half of training a vocabulary.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/thread_pool.h"

namespace attend::text {

struct CountedWord {
  std::string_view text;
  std::uint64_t count = 0;
};

// A hash table that keeps its own copy of each word.
class WordTable {
 public:
  WordTable();
  void add(std::string_view word, std::uint64_t count);
  const std::vector<CountedWord>& words() const { return words_; }

 private:
  struct Slot {
    std::uint32_t hash = 0, index = 0;  // index + 1 of the word; 0 is empty
  };
  std::string_view keep(std::string_view word);
  void grow();

  std::vector<Slot> slots_;
  std::vector<CountedWord> words_;
  std::deque<std::string> pages_;  // the words' bytes
};

struct WordCountOptions {
  bool add_prefix_space = false;  // a line gets a space in front, so that its first word is like the others
  bool line_ends = false;         // lines keep their line feed
  // Words of digits are not counted, so that no token joins two digits: a model that copies, reverses or spells out
  // numbers sees each digit.
  bool single_digits = false;
  // Adds the words of a line to the table; without it they are GPT-2's. Several threads call it.
  std::function<void(std::string_view line, WordTable& words)> cut = {};
};

// Counts words, line by line. Any number of threads gives the same counts.
class WordCounter {
 public:
  WordCounter(ThreadPool& pool, WordCountOptions options);

  // Whole lines. Those that are not UTF-8 are left out and counted.
  void add(std::string_view lines);

  std::uint64_t lines() const { return lines_; }
  std::uint64_t invalid_lines() const { return invalid_lines_; }
  // The words, most frequent first, then by their bytes; valid while the counter lives.
  std::vector<CountedWord> words();

 private:
  struct Counts {
    WordTable words;
    std::uint64_t lines = 0, invalid_lines = 0;
  };
  void add_piece(std::string_view lines, Counts& counts) const;

  ThreadPool& pool_;
  WordCountOptions options_;
  std::vector<Counts> counts_;  // one per thread
  std::uint64_t lines_ = 0, invalid_lines_ = 0;
};

}  // namespace attend::text
