// Byte-pair encoding of one word (Sennrich et al. 2016): neighbours are joined in the order in which training joined
// them, the leftmost first among equals.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/text/models/model.h"
#include "attend/text/models/pair_table.h"

namespace attend::text {

class BpeMerger {
 public:
  explicit BpeMerger(std::size_t merges = 0) : merges_(merges) {}

  // The pair (a, b) becomes joined; a lower rank goes first. A pair that is added again takes the later rank.
  void add(TokenId a, TokenId b, std::uint32_t rank, TokenId joined) {
    merges_[PairTable<Merge>::key_of(a, b)] = {rank, joined};
  }

  // Joins the pieces of a word, in place.
  void merge(std::vector<Piece>& word) const;

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  struct Merge {
    std::uint32_t rank = kNever;
    TokenId joined = -1;
  };

  Merge find(TokenId a, TokenId b) const {
    const Merge* merge = merges_.find(PairTable<Merge>::key_of(a, b));
    return merge ? *merge : Merge{};
  }
  void merge_short(std::vector<Piece>& word) const;
  void merge_long(std::vector<Piece>& word) const;

  PairTable<Merge> merges_;
};

}  // namespace attend::text
