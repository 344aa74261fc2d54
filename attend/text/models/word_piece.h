// WordPiece (Schuster & Nakajima 2012, as BERT uses it): a word is the longest token that begins it, then the longest
// that continues it, and so on; a word that cannot be spelled is one unknown token.
#pragma once

#include <string>

#include "attend/text/byte_trie.h"
#include "attend/text/models/model.h"
#include "attend/text/models/word_cache.h"

namespace attend::text {

class WordPiece : public Model {
 public:
  explicit WordPiece(const JsonView& json);
  void tokenize(std::string_view word, WordOptions options, std::vector<Piece>& out) const override;

 private:
  bool spell(std::string_view word, std::vector<Piece>& out) const;

  ByteTrie trie_;
  std::uint32_t continuing_ = ByteTrie::kNone;  // the node behind the prefix of tokens that continue a word
  std::size_t longest_word_ = 100;              // in characters
  TokenId unknown_ = 0;
  WordCache cache_;
};

// A word is a token or unknown.
class WordLevel : public Model {
 public:
  explicit WordLevel(const JsonView& json);
  void tokenize(std::string_view word, WordOptions options, std::vector<Piece>& out) const override;

 private:
  std::optional<TokenId> unknown_;
};

}  // namespace attend::text
