// The third step of a tokenizer: a word becomes tokens. One class per type of tokenizer.json's "model".
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "attend/text/vocabulary.h"

namespace attend::text {

class JsonView;

// A token and how many bytes of the word it covers.
struct Piece {
  TokenId id = 0;
  std::uint32_t bytes = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  // Whether words may come as bytes that stand for GPT-2's printable characters.
  virtual bool takes_bytes() const { return false; }

  struct WordOptions {
    bool byte_level = false;
  };
  // Appends the tokens of a word. May be called from several threads.
  virtual void tokenize(std::string_view word, WordOptions options, std::vector<Piece>& out) const = 0;

  // Whether a token is shown as the text it covers, not as its entry: some models do so with an unknown one.
  virtual bool spells_out(TokenId) const { return false; }

  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

std::unique_ptr<Model> make_model(const JsonView& json);

}  // namespace attend::text
