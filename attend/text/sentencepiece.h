// The parts of a tokenizer that a SentencePiece file describes; its unigram model is in unigram.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attend/text/bpe_merger.h"
#include "attend/text/byte_trie.h"
#include "attend/text/charsmap.h"
#include "attend/text/decoder.h"
#include "attend/text/model.h"
#include "attend/text/normalizer.h"
#include "attend/text/sentencepiece_file.h"
#include "attend/text/unknown_pieces.h"
#include "attend/text/word_cache.h"

namespace attend {

// Applies the file's rules, drops extra spaces, and writes the others as "▁", with one in front.
class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(const SentencePieceFile& file, const std::string& what);
  void apply(AlignedText& text) const override;
  void apply_bytes(std::string& text, TextBudget& budget) const override;

 private:
  // Bytes [begin, end) of the text that a byte of the result came from.
  struct Source {
    std::uint32_t begin = 0, end = 0;
  };
  std::string normalize(std::string_view text, std::vector<Source>* sources) const;
  // What the start of the text becomes.
  Charsmap::Rule next(std::string_view text) const;

  Charsmap rules_;
  ByteTrie user_defined_;  // kept as they are
  std::string space_;
  bool add_dummy_prefix_, remove_extra_, suffix_;
};

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

class SentencePieceDecoder : public Decoder {
 public:
  explicit SentencePieceDecoder(const SentencePieceFile& file);
  std::vector<std::string> apply(std::vector<std::string> tokens) const override;

 private:
  std::vector<std::string> control_;  // sorted; they are invisible
  std::string unknown_, unknown_surface_;
  bool bytes_, strips_one_, strips_all_;
};

}  // namespace attend
