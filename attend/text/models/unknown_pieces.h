// What SentencePiece does with the characters that no piece covers: each becomes its bytes, where the model has those,
// or runs of them become one unknown piece.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "attend/text/models/model.h"

namespace attend::text {

struct UnknownPieces {
  TokenId unknown = -1;
  std::optional<std::array<TokenId, 256>> bytes = {};

  // The pieces from `begin` on cover the text.
  void resolve(std::string_view text, std::size_t begin, std::vector<Piece>& pieces) const;
};

// Of <0x00> to <0xFF>, or nothing if one is missing.
std::optional<std::array<TokenId, 256>> find_byte_pieces(const Vocabulary& vocabulary);

}  // namespace attend::text
