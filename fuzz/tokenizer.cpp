// Any bytes as a tokenizer.json, and a text through what it describes; other beginnings as a SentencePiece model.
#include "attend/text/tokenizer.h"

#include "attend/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr const char* kText = "Hello, wörld! 東京 is  1,234 miles\taway…\nDon't [MASK] <s>it</s> 🤗\u0301";
  try {
    const auto tokenizer = bytes.starts_with('{') ? attend::Tokenizer::parse(bytes, "input")
                                                  : attend::Tokenizer::parse_sentencepiece(bytes, "input");
    const attend::Encoding encoding = tokenizer.encode(kText);
    tokenizer.decode(encoding.ids);
    tokenizer.encode_ids(kText, {.add_special_tokens = false});
    tokenizer.encode_pair("a b", kText);
  } catch (const attend::Error&) {
  }
  return 0;
}
