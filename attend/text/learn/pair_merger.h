// The second half of training BPE: joins pairs in counted words, keeping the pairs' counts and places up to date, so
// that a merge costs what it changes.
//
// It follows Hugging Face's trainer where that is odd. Two pairs may spell one token (ab+c, a+bc); places that a pair
// gains that way, after it was first seen, wait in the queue as an entry of their own, and the pair may then be joined
// twice, at the rank of the later time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string_view>
#include <vector>

#include "attend/text/learn/word_counts.h"
#include "attend/text/models/pair_table.h"
#include "attend/text/vocabulary.h"

namespace attend::text {

class PairMerger {
 public:
  // spell(word, symbols) appends the symbols a word starts as.
  using Speller = std::function<void(std::string_view word, std::vector<TokenId>& symbols)>;
  PairMerger(const std::vector<CountedWord>& words, const Speller& spell);

  struct Best {
    TokenId first = -1, second = -1;
    std::uint64_t count = 0;  // 0: there is no pair left
  };
  // The pair to join next. It is then out of the queue, and without join() it stays as it is.
  Best next();
  // Joins the pair that next() gave, wherever its entry knows it.
  void join(TokenId joined);

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Word {
    std::uint32_t begin = 0, length = 0;  // in symbols_
    std::int64_t count = 0;
  };
  // Places are words, in lists inside one array: a million small lists cost no allocation each.
  struct Place {
    std::uint32_t word = 0, next = kNone;
  };
  struct List {
    std::uint32_t head = kNone, tail = kNone;
  };
  struct Pair {
    std::int64_t count = 0;
    List fresh;  // where it appeared since entries were last made
  };
  struct Entry {
    std::uint64_t count = 0, pair = 0;
    std::uint32_t made = 0;  // tells entries of one pair apart: the older first
    List places;
    bool operator<(const Entry& other) const {
      if (count != other.count) return count < other.count;
      return pair != other.pair ? pair > other.pair : made > other.made;
    }
  };

  void change(std::uint64_t pair, std::int64_t count, std::uint32_t word);
  void join_in(std::uint32_t word, TokenId joined);
  void make_entries();

  std::vector<TokenId> symbols_;
  std::vector<Word> words_;
  PairTable<Pair> pairs_;
  std::vector<std::uint64_t> fresh_;  // pairs with fresh places
  std::vector<Place> places_;
  std::priority_queue<Entry> queue_;
  Entry top_;
  std::uint32_t made_ = 0;
};

}  // namespace attend::text
