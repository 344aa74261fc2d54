// Any bytes as a SentencePiece model, and a text through it.
#include "attend/text/tokenizer.h"
#include "fuzz/shared/target.h"
#include "fuzz/shared/texts.h"

namespace attend::fuzz {

const Target kTarget = {.file = "spiece.model",
                        .schema = R"({"@words": ["\u2581", "  ", "<0x41>", "\u2047", "\u6771", "\u0301"]})"};

void enter(const Input& input) {
  const auto tokenizer = text::Tokenizer::parse_sentencepiece(input["spiece.model"], "input");
  tokenize(tokenizer, input.has("text") ? input["text"] : kText);
}

}  // namespace attend::fuzz
