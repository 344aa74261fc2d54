// Tokens that are found in the text before anything else happens to it, such as <s> or [MASK]: tokenizer.json's
// "added_tokens".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attend/text/byte_trie.h"
#include "attend/text/vocabulary.h"

namespace attend::text {

class JsonView;

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;                 // left out of decoded text
  bool normalized = false;              // looked for in the normalized text
  bool single_word = false;             // not inside a word
  bool lstrip = false, rstrip = false;  // takes the white space on that side along
};

// A part of a text: an added token, or what is between two of them (token is null).
struct TextPart {
  std::string_view text;
  const AddedToken* token = nullptr;
};

// Finds the tokens of a set, the leftmost first and the longest of those.
class TokenFinder {
 public:
  struct Pattern {
    std::string text;
    const AddedToken* token;
  };
  TokenFinder() = default;
  explicit TokenFinder(const std::vector<Pattern>& patterns);
  bool empty() const { return trie_.empty(); }
  // The parts cover the text. A part that is not a token is not empty.
  void split(std::string_view text, std::vector<TextPart>& parts) const;

 private:
  struct Hit {
    std::size_t begin = 0, end = 0;
    const AddedToken* token = nullptr;
  };
  Hit find(std::string_view text, std::size_t from) const;

  ByteTrie trie_;
  std::vector<const AddedToken*> tokens_;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(AddedTokens&&) = default;  // no copies: the finders point into tokens_
  AddedTokens& operator=(AddedTokens&&) = default;
  // normalize gives the form in which a normalized token is looked for.
  AddedTokens(const JsonView& json, const Vocabulary& vocabulary,
              const std::function<std::string(const std::string&)>& normalize);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  const TokenFinder& raw() const { return raw_; }
  const TokenFinder& normalized() const { return normalized_; }

  const AddedToken* find(std::string_view content) const;
  const AddedToken* find(TokenId id) const;
  // The text of a token as decoders see it.
  const std::string& decoded_form(const AddedToken& token) const;
  bool is_special(std::string_view text) const { return special_.contains(std::string(text)); }

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, std::size_t> by_content_;
  std::unordered_map<TokenId, std::size_t> by_id_;
  std::unordered_map<TokenId, std::string> normalized_forms_;
  std::unordered_set<std::string> special_;
  TokenFinder raw_, normalized_;
};

}  // namespace attend::text
