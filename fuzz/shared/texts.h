// What every tokenizer that was read is asked.
#pragma once

#include <string_view>

#include "attend/text/tokenizer.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

// Where an input brings no text: letters, marks, digits, spaces and special tokens of several kinds.
inline constexpr const char* kText =
    "Hello, wörld! 東京 is  1,234 miles\taway…\nDon't [MASK] <s>it</s> 🤗\u0301";

inline void tokenize(const text::Tokenizer& tokenizer, std::string_view text) {
  attempt([&] {
    const text::Encoding encoding = tokenizer.encode(text);
    must(encoding.tokens.size() == encoding.ids.size() && encoding.offsets.size() == encoding.ids.size() &&
             encoding.type_ids.size() == encoding.ids.size(),
         "every token has its text, place and type");
    tokenizer.decode(encoding.ids);
    tokenizer.decode(encoding.ids, {.skip_special_tokens = false});
    must(tokenizer.encode_ids(text) == encoding.ids, "the ids alone are the same ids");
    for (text::TokenId id : encoding.ids) must(id >= 0 && id < tokenizer.id_limit(), "ids are below their limit");
  });
  attempt([&] { tokenizer.encode_ids(text, {.add_special_tokens = false}); });
  attempt([&] { tokenizer.encode_pair("a b", text); });
  tokenizer.vocabulary_size();
  for (const text::AddedToken& token : tokenizer.added_tokens()) {
    tokenizer.token_to_id(token.content);
    tokenizer.id_to_token(token.id);
  }
}

}  // namespace attend::fuzz
