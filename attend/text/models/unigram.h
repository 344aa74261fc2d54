// The unigram language model (Kudo 2018): of all ways to cut a word into tokens, the one whose scores (logarithms of
// probabilities) have the largest sum, found from left to right.
#pragma once

#include <vector>

#include "attend/text/byte_trie.h"
#include "attend/text/models/model.h"
#include "attend/text/models/unknown_pieces.h"
#include "attend/text/models/word_cache.h"

namespace attend::text {

struct SentencePieceFile;

class Unigram : public Model {
 public:
  explicit Unigram(const JsonView& json);
  explicit Unigram(const SentencePieceFile& file);

  void tokenize(std::string_view word, WordOptions options, std::vector<Piece>& out) const override;
  bool spells_out(TokenId id) const override { return id == unknown_.unknown; }

 private:
  // Sum: the libraries add up in different precisions, and near ties show it.
  template <class Sum>
  void find_best(std::string_view word, std::vector<Piece>& out) const;
  void read_scores(const JsonView& json);

  ByteTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;  // of a character that is no token
  UnknownPieces unknown_;
  bool sums_in_float_ = false;
  bool has_unknown_ = true;
  WordCache cache_;
};

}  // namespace attend::text
