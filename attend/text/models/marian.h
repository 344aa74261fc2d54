// Marian's tokenizer (Junczys-Dowmunt et al. 2018, as the OPUS-MT models have it): SentencePiece cuts the text, and a
// vocabulary of its own, shared by both languages, numbers the pieces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attend/text/models/model.h"
#include "attend/text/steps/decoder.h"

namespace attend::text {

inline constexpr const char* kMarianSpecialTokens[] = {"</s>", "<unk>", "<pad>"};

class MarianModel : public Model {
 public:
  MarianModel(std::unique_ptr<Model> pieces, Vocabulary vocabulary);
  void tokenize(std::string_view text, WordOptions options, std::vector<Piece>& out) const override;
  bool spells_out(TokenId id) const override { return id == unknown_; }

 private:
  std::unique_ptr<Model> pieces_;
  TokenId unknown_;
  std::vector<TokenId> ids_;  // of each piece
};

// The target language's decoder, between special tokens.
class MarianDecoder : public Decoder {
 public:
  explicit MarianDecoder(std::unique_ptr<Decoder> pieces) : pieces_(std::move(pieces)) {}
  std::vector<std::string> apply(std::vector<std::string> tokens) const override;

 private:
  std::unique_ptr<Decoder> pieces_;
};

}  // namespace attend::text
