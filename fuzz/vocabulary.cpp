// A folder of older tokenizer files: GPT-2's, BERT's, Marian's and SentencePiece's, in any combination.
#include "attend/text/tokenizer.h"
#include "fuzz/shared/target.h"
#include "fuzz/shared/texts.h"

namespace attend::fuzz {

const Target kTarget = {
    .file = "vocab.txt",
    .schema = R"({"tokenizer_class": ["RobertaTokenizer", "GPT2Tokenizer", 1], "model_type": ["roberta", "gpt2"],
                  "add_prefix_space": [true, false], "do_lower_case": [true, false], "tokenize_chinese_chars": [true, false],
                  "strip_accents": [true, false, null], "unk_token": ["[UNK]", "a"], "cls_token": ["[CLS]"], "sep_token": ["[SEP]"],
                  "</s>": [0, 1], "<s>": [2], "<unk>": [1], "<pad>": [3], "<mask>": [9], ">>fra<<": [4], "<|endoftext|>": [5],
                  "@words": ["\n", "##", " ", "#version: 0.2\n", "[UNK]\n", "[CLS]\n", "[SEP]\n", "\u0120"]})"};

namespace {

constexpr const char* kFiles[] = {"tokenizer.json", "vocab.json", "merges.txt", "encoder.json", "vocab.bpe",
                                  "vocab.txt",      "source.spm", "target.spm", "spiece.model", "tokenizer_config.json",
                                  "config.json"};

}  // namespace

void enter(const Input& input) {
  for (const char* name : kFiles)
    if (input.has(name))
      write(name, input[name]);
    else
      remove(name);
  const std::string_view text = input.has("text") ? input["text"] : kText;
  attempt([&] { tokenize(text::Tokenizer::load(folder()), text); });
  for (const char* name : kFiles)
    if (input.has(name)) attempt([&] { text::Tokenizer::load(folder() / name); });
}

}  // namespace attend::fuzz
