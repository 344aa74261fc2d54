// The BPE model of a SentencePiece file; its other algorithm is in unigram.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attend/text/byte_trie.h"
#include "attend/text/files/sentencepiece_file.h"
#include "attend/text/models/bpe_merger.h"
#include "attend/text/models/model.h"
#include "attend/text/models/unknown_pieces.h"
#include "attend/text/models/word_cache.h"

namespace attend::text {

// Joins any two neighbours whose text is a piece, the highest score first and the leftmost among equals.
class SentencePieceBpe : public Model {
 public:
  SentencePieceBpe(const SentencePieceFile& file, const std::string& what);
  void tokenize(std::string_view text, WordOptions options, std::vector<Piece>& out) const override;
  bool spells_out(TokenId id) const override { return id == unknown_.unknown; }

 private:
  void add_merges(const SentencePieceFile& file);
  TokenId symbol_of(std::string_view character) const;
  // A part of the text that no join crosses.
  void tokenize_part(std::string_view part, std::vector<Piece>& out) const;

  Vocabulary symbols_;  // pieces that text can have, under their own ids, and behind them the characters that are none
  BpeMerger merger_;
  ByteTrie user_defined_;
  bool spaces_begin_ = true;  // no piece has a "▁" behind its start, so each begins a part
  UnknownPieces unknown_;
  WordCache cache_;
};

}  // namespace attend::text
