// A tokenizer as Hugging Face's tokenizer.json describes it: added tokens are found, the rest is normalized, cut into
// words and given to the model, and special tokens are put around the result. SentencePiece's, BERT's, GPT-2's and
// Marian's older files are put together from the same parts.
//
//   const Tokenizer tokenizer = Tokenizer::load("model");
//   std::vector<TokenId> ids = tokenizer.encode_ids("I am a student.");
//   std::string text = tokenizer.decode(ids);
//
// A tokenizer may be used by several threads at once.
#pragma once

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/encoding.h"
#include "attend/text/models/model.h"
#include "attend/text/steps/added_tokens.h"
#include "attend/text/steps/decoder.h"
#include "attend/text/steps/length_limits.h"
#include "attend/text/steps/normalizer.h"
#include "attend/text/steps/post_processor.h"
#include "attend/text/steps/pre_tokenizer.h"

namespace attend::text {

struct EncodeOptions {
  bool add_special_tokens = true;    // what the post-processor puts around the text
  bool truncate = true, pad = true;  // where the file asks for it
};

struct DecodeOptions {
  bool skip_special_tokens = true;
};

class Tokenizer {
 public:
  // One of these files, or the folder it is in (of several, the first):
  //   tokenizer.json                     Hugging Face's tokenizers
  //   vocab.json and merges.txt          GPT-2 and RoBERTa (also under GPT-2's first names, encoder.json and vocab.bpe)
  //   vocab.txt                          BERT, with do_lower_case of tokenizer_config.json
  //   source.spm, target.spm, vocab.json Marian: the folder. Encodes with source.spm and decodes with target.spm
  //   *.model, *.spm                     SentencePiece, with its own ids and nothing around the text; beside a config
  //   of
  //                                      XLM-RoBERTa with fairseq's ids, between <s> and </s>
  // Throws Error naming the file and what in it is wrong or unsupported.
  static Tokenizer load(const std::filesystem::path& path);
  // The same for the text to learn to write: of Marian it encodes with target.spm, of all others it is load().
  static Tokenizer load_target(const std::filesystem::path& path);
  // A tokenizer.json; what is the file's name in messages.
  static Tokenizer parse(std::string_view json, const std::string& what);
  // A SentencePiece model.
  static Tokenizer parse_sentencepiece(std::string_view bytes, const std::string& what);

  // Throws Error if the text is not UTF-8: callers that read files check lines with find_invalid_utf8 and count them.
  Encoding encode(std::string_view text, EncodeOptions options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second, EncodeOptions options = {}) const;
  // Just the ids: several times faster.
  std::vector<TokenId> encode_ids(std::string_view text, EncodeOptions options = {}) const;

  // Ids that stand for nothing are left out.
  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  // For a model with so many rows in its table of tokens. Added tokens beyond them are accepted until a text has one
  // (a [PAD] that was added and never used); throws Error when others are. what opens messages.
  Tokenizer& fit(std::int64_t rows, const std::string& what);

  // How many tokens there are, and how many rows an embedding needs for them (ids may have gaps).
  std::size_t vocabulary_size() const;
  TokenId id_limit() const;
  std::optional<TokenId> token_to_id(std::string_view token) const;
  std::optional<std::string_view> id_to_token(TokenId id) const;
  const std::vector<AddedToken>& added_tokens() const { return added_.tokens(); }

 private:
  Tokenizer() = default;
  explicit Tokenizer(const JsonView& json);
  // pieces: source.spm or target.spm, which cuts the text.
  static Tokenizer load_marian(const std::filesystem::path& folder, const char* pieces);
  static Tokenizer load_xlm_roberta(const std::filesystem::path& path);
  void add_tokens(const JsonView& json);
  // Learns what the post-processor does to ids, for encode_ids and truncation.
  void find_surroundings();

  enum class Want : std::uint8_t { ids, all };
  Encoding encode_one(std::string_view text, std::int32_t type, Want want) const;
  // A part without raw added tokens; first is the number of its first character.
  struct PartOptions {
    std::uint32_t first;  // characters in front of it
    Want want;
  };
  void encode_part(std::string_view part, PartOptions options, TextBudget& budget, Encoding& out) const;
  void encode_words(SplitText text, Want want, Encoding& out) const;
  Encoding finish(std::vector<Encoding> texts, EncodeOptions options) const;

  std::unique_ptr<Normalizer> normalizer_;  // these four may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<PostProcessor> post_processor_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<Model> model_;
  AddedTokens added_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;

  TokenId usable(const AddedToken& token) const;  // its id; throws Error for one beyond the model's rows

  std::int64_t rows_ = std::numeric_limits<std::int64_t>::max();  // of the model
  std::string model_name_;
  std::vector<TokenId> before_, behind_;  // what is put around one text
  bool surrounds_ = true;                 // and that is all that happens to it
  std::size_t added_to_one_ = 0, added_to_two_ = 0;
  TokenId largest_around_ = -1;  // id that the post-processor adds
};

}  // namespace attend::text
