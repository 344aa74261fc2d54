#include "attend/text/files/sentencepiece_file.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/unicode/unicode.h"

namespace attend::text {

namespace {

// A message of a protocol buffer, field by field. Every length is checked against what is there.
class Message {
 public:
  Message(std::string_view bytes, const std::string& what) : rest_(bytes), what_(what) {}

  struct Field {
    std::uint32_t number = 0;
    std::uint64_t value = 0;      // of a number; the bits of a float
    std::string_view bytes = {};  // of a string or a message inside
    bool is_bytes = false;
  };

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field = {.number = static_cast<std::uint32_t>(tag >> 3)};
    check(tag >> 3 != 0 && tag >> 32 == 0, "{}: is not a SentencePiece model", what_);
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint()), field.is_bytes = true;
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        fail("{}: is not a SentencePiece model", what_);
    }
    return field;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("{}: is not a SentencePiece model", what_);
  }
  std::uint64_t fixed(std::size_t bytes) {
    const std::string_view text = take(bytes);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    return value;
  }
  std::string_view take(std::uint64_t bytes) {
    check(bytes <= rest_.size(), "{}: the SentencePiece model ends too early", what_);
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(bytes));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  const std::string& what_;
};

SentencePieceFile::Piece read_piece(std::string_view bytes, const std::string& what, std::size_t index) {
  SentencePieceFile::Piece piece;
  Message message(bytes, what);
  while (const auto field = message.next()) {
    if (field->number == 1) piece.text = field->bytes;
    if (field->number == 2) piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
    if (field->number == 3) {
      check(field->value >= 1 && field->value <= 6, "{}: piece {} has the type {}, which is not known", what, index,
            field->value);
      piece.type = static_cast<PieceType>(field->value);
    }
  }
  check(!piece.text.empty(), "{}: piece {} is empty", what, index);
  check(!find_invalid_utf8(piece.text), "{}: piece {} is not UTF-8", what, index);
  check(std::isfinite(piece.score), "{}: piece {} has a score that is not a number", what, index);
  return piece;
}

void read_trainer(std::string_view bytes, const std::string& what, SentencePieceFile& file) {
  Message message(bytes, what);
  while (const auto field = message.next()) {
    if (field->number == 3) {
      check(field->value == 1 || field->value == 2,
            "{}: the model type is {}; only 1 (unigram) and 2 (bpe) are supported", what, field->value);
      file.algorithm = static_cast<SentencePieceFile::Algorithm>(field->value);
    }
    if (field->number == 24) file.whitespace_as_suffix = field->value != 0;
    if (field->number == 35) file.byte_fallback = field->value != 0;
    if (field->number == 44 && field->is_bytes) {
      check(!find_invalid_utf8(field->bytes), "{}: unk_surface is not UTF-8", what);
      file.unknown_surface = field->bytes;
    }
  }
}

void read_normalizer(std::string_view bytes, const std::string& what, SentencePieceFile& file) {
  Message message(bytes, what);
  while (const auto field = message.next()) {
    if (field->number == 2) file.charsmap = field->bytes;
    if (field->number == 3) file.add_dummy_prefix = field->value != 0;
    if (field->number == 4) file.remove_extra_whitespaces = field->value != 0;
    if (field->number == 5) file.escape_whitespaces = field->value != 0;
  }
}

void check_denormalizer(std::string_view bytes, const std::string& what) {
  Message message(bytes, what);
  while (const auto field = message.next())
    check(field->number != 2 || field->bytes.empty(), "{}: has a denormalizer, which is not supported", what);
}

void check_pieces(SentencePieceFile& file, const std::string& what) {
  std::array<bool, 256> bytes = {};
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    if (piece.type == PieceType::unknown) {
      check(file.unknown < 0, "{}: pieces {} and {} are both the unknown one", what, file.unknown, i);
      file.unknown = static_cast<TokenId>(i);
    }
    if (piece.type != PieceType::byte) continue;
    for (std::size_t byte = 0; byte < 256; ++byte)
      bytes[byte] = bytes[byte] || piece.text == fmt::format("<0x{:02X}>", byte);
  }
  check(file.unknown >= 0, "{}: has no unknown piece", what);
  if (!file.byte_fallback) return;
  for (std::size_t byte = 0; byte < 256; ++byte)
    check(bytes[byte], "{}: falls back to bytes but has no piece <0x{:02X}>", what, byte);
}

}  // namespace

SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& what) {
  SentencePieceFile file;
  Message message(bytes, what);
  while (const auto field = message.next()) {
    if (!field->is_bytes) continue;
    if (field->number == 1) file.pieces.push_back(read_piece(field->bytes, what, file.pieces.size()));
    if (field->number == 2) read_trainer(field->bytes, what, file);
    if (field->number == 3) read_normalizer(field->bytes, what, file);
    if (field->number == 5) check_denormalizer(field->bytes, what);
  }
  check(!file.pieces.empty(), "{}: has no pieces", what);
  check_pieces(file, what);
  return file;
}

Vocabulary sentencepiece_vocabulary(const SentencePieceFile& file) {
  Vocabulary vocabulary;
  vocabulary.reserve(file.pieces.size());
  for (std::size_t i = 0; i < file.pieces.size(); ++i) vocabulary.add(file.pieces[i].text, static_cast<TokenId>(i));
  return vocabulary;
}

}  // namespace attend::text
