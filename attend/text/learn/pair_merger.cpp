#include "attend/text/learn/pair_merger.h"

namespace attend::text {

namespace {

std::uint64_t pair_of(TokenId a, TokenId b) { return PairTable<int>::key_of(a, b); }

}  // namespace

PairMerger::PairMerger(const std::vector<CountedWord>& words, const Speller& spell) {
  words_.reserve(words.size());
  for (const CountedWord& word : words) {
    const std::size_t begin = symbols_.size();
    spell(word.text, symbols_);
    words_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(symbols_.size() - begin),
                      static_cast<std::int64_t>(word.count)});
  }
  for (std::uint32_t i = 0; i < words_.size(); ++i) {
    const TokenId* symbols = symbols_.data() + words_[i].begin;
    for (std::uint32_t at = 0; at + 1 < words_[i].length; ++at)
      change(pair_of(symbols[at], symbols[at + 1]), words_[i].count, i);
  }
  make_entries();
}

void PairMerger::change(std::uint64_t key, std::int64_t count, std::uint32_t word) {
  Pair& pair = pairs_[key];
  pair.count += count;
  if (count < 0) return;
  List& fresh = pair.fresh;
  if (fresh.tail != kNone && places_[fresh.tail].word == word) return;  // words come one after the other
  const auto place = static_cast<std::uint32_t>(places_.size());
  places_.push_back({word, kNone});
  if (fresh.head == kNone) {
    fresh.head = place;
    fresh_.push_back(key);
  } else {
    places_[fresh.tail].next = place;
  }
  fresh.tail = place;
}

void PairMerger::make_entries() {
  for (const std::uint64_t key : fresh_) {
    Pair& pair = pairs_[key];
    if (pair.count > 0) queue_.push({static_cast<std::uint64_t>(pair.count), key, made_++, pair.fresh});
    pair.fresh = {};
  }
  fresh_.clear();
}

PairMerger::Best PairMerger::next() {
  while (!queue_.empty()) {
    top_ = queue_.top();
    queue_.pop();
    const auto now = static_cast<std::uint64_t>(pairs_.find(top_.pair)->count);
    if (top_.count != now) {  // it has changed since the entry was made
      top_.count = now;
      queue_.push(top_);
      continue;
    }
    return {static_cast<TokenId>(top_.pair >> 32), static_cast<TokenId>(top_.pair & 0xFFFFFFFFu), now};
  }
  return {};
}

void PairMerger::join(TokenId joined) {
  for (std::uint32_t place = top_.places.head; place != kNone; place = places_[place].next)
    join_in(places_[place].word, joined);
  make_entries();
}

void PairMerger::join_in(std::uint32_t index, TokenId joined) {
  Word& word = words_[index];
  const auto first = static_cast<TokenId>(top_.pair >> 32), second = static_cast<TokenId>(top_.pair & 0xFFFFFFFFu);
  TokenId* symbols = symbols_.data() + word.begin;
  std::uint32_t kept = 0;
  for (std::uint32_t at = 0; at < word.length; ++at) {
    if (symbols[at] != first || at + 1 == word.length || symbols[at + 1] != second) {
      symbols[kept++] = symbols[at];
      continue;
    }
    if (kept > 0) {
      change(pair_of(symbols[kept - 1], first), -word.count, index);
      change(pair_of(symbols[kept - 1], joined), word.count, index);
    }
    if (at + 2 < word.length) {
      change(pair_of(second, symbols[at + 2]), -word.count, index);
      change(pair_of(joined, symbols[at + 2]), word.count, index);
    }
    symbols[kept++] = joined;
    ++at;
  }
  word.length = kept;
}

}  // namespace attend::text
