// A SentencePiece .model file (Kudo & Richardson 2018): a protocol buffer, of which only what encoding and decoding
// need is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/vocabulary.h"

namespace attend::text {

enum class PieceType : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

struct SentencePieceFile {
  struct Piece {
    std::string text = {};
    float score = 0;
    PieceType type = PieceType::normal;
  };
  enum class Algorithm : std::uint8_t { unigram = 1, bpe };

  std::vector<Piece> pieces = {};
  TokenId unknown = -1;  // the one piece of that type
  Algorithm algorithm = Algorithm::unigram;
  bool byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  // what an unknown piece is decoded to
  std::string charsmap = {};                 // see charsmap.h; may be empty
  bool add_dummy_prefix = true, remove_extra_whitespaces = true, escape_whitespaces = true;
  bool whitespace_as_suffix = false;
};

// what is the file's name in messages. Throws Error for what is damaged or not supported.
SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& what);

// Its pieces; their ids are their places.
Vocabulary sentencepiece_vocabulary(const SentencePieceFile& file);

}  // namespace attend::text
