#include "attend/text/models/sentencepiece_bpe.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"

namespace attend::text {

namespace {

constexpr std::string_view kSpace = "▁";
// Every way to cut a piece in two is looked up once, so a piece of n bytes costs n^2.
constexpr std::size_t kLongestPiece = 512;

}  // namespace

SentencePieceBpe::SentencePieceBpe(const SentencePieceFile& file, const std::string& what) {
  vocabulary_ = sentencepiece_vocabulary(file);
  unknown_.unknown = file.unknown;
  if (file.byte_fallback) unknown_.bytes = find_byte_pieces(vocabulary_);
  std::vector<ByteTrie::Key> user;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    const auto id = static_cast<TokenId>(i);
    check(piece.type != PieceType::unused, "{}: piece {} is unused, which is not supported in a bpe model", what, i);
    if (piece.type == PieceType::user_defined) user.emplace_back(piece.text, id);
    if (piece.type == PieceType::user_defined || piece.type == PieceType::normal) symbols_.add(piece.text, id);
    if (piece.type != PieceType::normal) continue;
    check(piece.text.size() <= kLongestPiece, "{}: piece {} is longer than {} bytes", what, i, kLongestPiece);
    if (piece.text.find(kSpace, 1) != piece.text.npos) spaces_begin_ = false;
  }
  user_defined_ = ByteTrie(std::move(user));
  add_merges(file);
}

void SentencePieceBpe::add_merges(const SentencePieceFile& file) {
  // Characters that are no piece may still be part of one.
  auto next = static_cast<TokenId>(file.pieces.size());
  std::vector<float> scores;
  for (const SentencePieceFile::Piece& piece : file.pieces) {
    if (piece.type != PieceType::normal && piece.type != PieceType::user_defined) continue;
    scores.push_back(piece.score);
    for (std::size_t at = 0, length; at < piece.text.size(); at += length) {
      length = utf8_length(piece.text[at]);
      const std::string_view character = std::string_view(piece.text).substr(at, length);
      if (!symbols_.find(character)) symbols_.add(character, next++);
    }
  }
  std::ranges::sort(scores, std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    if (piece.type != PieceType::normal && piece.type != PieceType::user_defined) continue;
    if (piece.text.size() > kLongestPiece) continue;  // of the user, who means it as a whole
    const auto rank = std::ranges::lower_bound(scores, piece.score, std::greater<>()) - scores.begin();
    const std::string_view text = piece.text;
    for (std::size_t at = utf8_length(text[0]); at < text.size(); at += utf8_length(text[at])) {
      const auto left = symbols_.find(text.substr(0, at)), right = symbols_.find(text.substr(at));
      if (left && right) merger_.add(*left, *right, static_cast<std::uint32_t>(rank), static_cast<TokenId>(i));
    }
  }
}

void SentencePieceBpe::tokenize_part(std::string_view part, std::vector<Piece>& out) const {
  const std::uint64_t hash = hash_text(part);
  if (cache_.find(part, hash, out)) return;
  constexpr TokenId kNoSymbol = 0x7fffffff;
  thread_local std::vector<Piece> pieces;
  pieces.clear();
  for (std::size_t at = 0, length; at < part.size(); at += length) {
    length = std::min(utf8_length(part[at]), part.size() - at);
    pieces.push_back({symbols_.find(part.substr(at, length)).value_or(kNoSymbol), static_cast<std::uint32_t>(length)});
  }
  merger_.merge(pieces);
  for (Piece& piece : pieces)
    if (!vocabulary_.token(piece.id)) piece.id = unknown_.unknown;
  cache_.insert(part, hash, pieces.data(), pieces.size());
  out.insert(out.end(), pieces.begin(), pieces.end());
}

void SentencePieceBpe::tokenize(std::string_view text, WordOptions, std::vector<Piece>& out) const {
  const std::size_t before = out.size();
  std::size_t begin = 0;  // of the part
  const auto flush = [&](std::size_t end) {
    if (begin < end) tokenize_part(text.substr(begin, end - begin), out);
    begin = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (!user_defined_.empty()) {
      if (const auto found = user_defined_.longest(text.substr(at)); found.bytes > 0) {
        flush(at);
        out.push_back({found.value, found.bytes});
        begin = at += found.bytes;
        continue;
      }
    }
    if (spaces_begin_ && text.substr(at).starts_with(kSpace)) flush(at);
    at += std::min(utf8_length(text[at]), text.size() - at);
  }
  flush(text.size());
  unknown_.resolve(text, before, out);
}

}  // namespace attend::text
