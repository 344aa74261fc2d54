#include "attend/text/models/unknown_pieces.h"

#include <fmt/core.h>

#include <algorithm>

namespace attend::text {

void UnknownPieces::resolve(std::string_view text, std::size_t begin, std::vector<Piece>& pieces) const {
  const auto is_unknown = [this](const Piece& piece) { return piece.id == unknown; };
  const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(begin);
  if (std::none_of(first, pieces.end(), is_unknown)) return;
  const std::vector<Piece> old(first, pieces.end());
  pieces.resize(begin);
  std::size_t at = 0;
  bool run = false;
  for (const Piece& piece : old) {
    if (!is_unknown(piece)) {
      pieces.push_back(piece);
    } else if (bytes) {
      for (char byte : text.substr(at, piece.bytes)) pieces.push_back({(*bytes)[static_cast<unsigned char>(byte)], 1});
    } else if (run) {
      pieces.back().bytes += piece.bytes;
    } else {
      pieces.push_back(piece);
    }
    run = is_unknown(piece);
    at += piece.bytes;
  }
}

std::optional<std::array<TokenId, 256>> find_byte_pieces(const Vocabulary& vocabulary) {
  std::array<TokenId, 256> ids = {};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto id = vocabulary.find(fmt::format("<0x{:02X}>", byte));
    if (!id) return std::nullopt;
    ids[byte] = *id;
  }
  return ids;
}

}  // namespace attend::text
