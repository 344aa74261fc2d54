// Text to tokens and back.
//
//   const attend::Tokenizer tokenizer("models/en-fr");
//   const std::vector<std::int32_t> ids = tokenizer.encode_ids("I am a student.");
//   const std::string text = tokenizer.decode(ids);
//
// Several threads may use a tokenizer at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/encoding.h"

namespace attend {

namespace text {
class Tokenizer;
}

using text::Encoding;

// Copies are the same tokenizer.
class Tokenizer {
 public:
  // tokenizer.json, or another file that text::Tokenizer::load knows, or the folder it is in. Throws Error naming the
  // file and what in it is wrong or unsupported.
  explicit Tokenizer(const std::filesystem::path& path);
  explicit Tokenizer(std::shared_ptr<const text::Tokenizer> inner);  // for the library's own code

  // With what the tokenizer puts around a text. Throws Error when the text is not UTF-8.
  Encoding encode(std::string_view text) const;
  Encoding encode_pair(std::string_view first, std::string_view second) const;
  // Just the ids: several times faster.
  std::vector<std::int32_t> encode_ids(std::string_view text) const;
  // Ids that stand for nothing, and special tokens, are left out.
  std::string decode(std::span<const std::int32_t> ids) const;

  std::size_t vocabulary_size() const;
  std::optional<std::int32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(std::int32_t id) const;

 private:
  std::shared_ptr<const text::Tokenizer> inner_;
};

}  // namespace attend
