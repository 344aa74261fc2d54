#include "attend/text/steps/sentencepiece_decoder.h"

#include <algorithm>
#include <optional>

#include "attend/base/unicode/unicode.h"

namespace attend::text {

namespace {

constexpr std::string_view kWordStart = "▁";

}  // namespace

SentencePieceDecoder::SentencePieceDecoder(const SentencePieceFile& file)
    : unknown_surface_(file.unknown_surface),
      bytes_(file.byte_fallback),
      strips_one_(file.add_dummy_prefix || file.remove_extra_whitespaces),
      strips_all_(file.remove_extra_whitespaces) {
  unknown_ = file.pieces[static_cast<std::size_t>(file.unknown)].text;
  for (const auto& piece : file.pieces)
    if (piece.type == PieceType::control) control_.push_back(piece.text);
  std::ranges::sort(control_);
}

std::vector<std::string> SentencePieceDecoder::apply(std::vector<std::string> tokens) const {
  std::string text, bytes;
  bool starts = true;  // the "▁" in front, which encoding put there, is still to come
  const auto flush = [&] {
    text += find_invalid_utf8(bytes) ? replace_invalid_utf8(bytes) : bytes;
    bytes.clear();
  };
  for (const std::string& token : tokens) {
    if (const auto byte = bytes_ ? fallback_byte(token) : std::nullopt) {
      bytes.push_back(*byte);
      continue;
    }
    flush();
    if (!text.empty()) starts = false;
    if (std::ranges::binary_search(control_, token)) continue;
    if (token == unknown_) {
      text += unknown_surface_;
      continue;
    }
    std::string_view piece = token;
    if (starts && strips_one_ && piece.starts_with(kWordStart)) {
      piece.remove_prefix(kWordStart.size());
      starts = strips_all_;
    }
    for (std::size_t found; (found = piece.find(kWordStart)) != piece.npos;
         piece.remove_prefix(found + kWordStart.size()))
      text.append(piece.substr(0, found)).push_back(' ');
    text.append(piece);
  }
  flush();
  return {std::move(text)};
}

}  // namespace attend::text
