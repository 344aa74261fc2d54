// A tokenizer as Hugging Face's tokenizer.json describes it: added tokens are found, the rest is normalized, cut into
// words and given to the model, and special tokens are put around the result.
//
//   const Tokenizer tokenizer = Tokenizer::load("model/tokenizer.json");
//   std::vector<TokenId> ids = tokenizer.encode_ids("I am a student.");
//   std::string text = tokenizer.decode(ids);
//
// A tokenizer may be used by several threads at once.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/added_tokens.h"
#include "attend/text/decoder.h"
#include "attend/text/encoding.h"
#include "attend/text/model.h"
#include "attend/text/normalizer.h"
#include "attend/text/post_processor.h"
#include "attend/text/pre_tokenizer.h"

namespace attend {

struct EncodeOptions {
  bool add_special_tokens = true;  // what the post-processor puts around the text
};

struct DecodeOptions {
  bool skip_special_tokens = true;
};

class Tokenizer {
 public:
  // A tokenizer.json, or the folder it is in. Throws Error naming the file and the key that is wrong or unsupported.
  static Tokenizer load(const std::filesystem::path& path);
  // what is the file's name in messages.
  static Tokenizer parse(std::string_view json, const std::string& what);

  // Throws Error if the text is not UTF-8: callers that read files check lines with find_invalid_utf8 and count them.
  Encoding encode(std::string_view text, EncodeOptions options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second, EncodeOptions options = {}) const;
  // Just the ids: several times faster.
  std::vector<TokenId> encode_ids(std::string_view text, EncodeOptions options = {}) const;

  // Ids that stand for nothing are left out.
  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  // How many tokens there are, and how many rows an embedding needs for them (ids may have gaps).
  std::size_t vocabulary_size() const;
  TokenId id_limit() const;
  std::optional<TokenId> token_to_id(std::string_view token) const;
  std::optional<std::string_view> id_to_token(TokenId id) const;
  const std::vector<AddedToken>& added_tokens() const { return added_.tokens(); }

 private:
  explicit Tokenizer(const JsonView& json);

  enum class Want : std::uint8_t { ids, all };
  Encoding encode_one(std::string_view text, std::int32_t type, Want want) const;
  // A part without raw added tokens; first is the number of its first character.
  void encode_part(std::string_view part, std::uint32_t first, Want want, Encoding& out) const;
  void encode_words(SplitText text, Want want, Encoding& out) const;
  Encoding finish(std::vector<Encoding> texts, EncodeOptions options) const;

  std::unique_ptr<Normalizer> normalizer_;  // these four may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<PostProcessor> post_processor_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<Model> model_;
  AddedTokens added_;
};

}  // namespace attend
