// Tokenizers from the files that came before tokenizer.json, and what is said when there are none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/text/tokenizer.h"

namespace attend {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<text::TokenId>;

class LoadTokenizer : public testing::Test {
 protected:
  LoadTokenizer() : folder_(fs::temp_directory_path() / ("attend_load_" + std::to_string(std::rand()))) {
    fs::create_directories(folder_);
  }
  ~LoadTokenizer() override { fs::remove_all(folder_); }
  void write(const char* name, const std::string& content) const { write_file(folder_ / name, content); }
  std::string message(const fs::path& path) const {
    try {
      text::Tokenizer::load(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  fs::path folder_;
};

TEST_F(LoadTokenizer, SaysWhatItLookedFor) {
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "vocab.txt", "source.spm", "spiece.model",
                           "sentencepiece.bpe.model", "tokenizer.model"})
    EXPECT_NE(message(folder_).find(name), std::string::npos) << message(folder_);
  EXPECT_NE(message(folder_ / "no.json").find("no.json"), std::string::npos);
  EXPECT_NE(message(folder_ / "no.model").find("no.model"), std::string::npos);
}

TEST_F(LoadTokenizer, Gpt2Files) {
  write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "<s>": 4, "</s>": 5})");
  write("merges.txt", "#version: 0.2\na b\n");
  for (const char* file : {"", "vocab.json", "merges.txt"}) {
    const text::Tokenizer tokenizer = text::Tokenizer::load(folder_ / file);
    EXPECT_EQ(tokenizer.encode_ids("ab a</s>"), (Ids{2, 3, 0, 5}));
    EXPECT_EQ(tokenizer.decode(Ids{2, 3, 0, 5}), "ab a");
  }
  write("config.json", R"({"model_type": "roberta"})");
  EXPECT_EQ(text::Tokenizer::load(folder_).encode_ids("ab"), (Ids{4, 2, 5}));
  write("merges.txt", "a b c\n");
  EXPECT_NE(message(folder_).find("merges [0] must be two tokens"), std::string::npos) << message(folder_);
  write("merges.txt", "\xFF b\n");
  EXPECT_NE(message(folder_).find("merges.txt: is not UTF-8"), std::string::npos) << message(folder_);
  write("vocab.json", "[]");
  EXPECT_NE(message(folder_).find("must be an object"), std::string::npos) << message(folder_);
}

TEST_F(LoadTokenizer, BertVocabulary) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nA\na\n##b\n,\n");
  const text::Tokenizer lower = text::Tokenizer::load(folder_);
  EXPECT_EQ(lower.encode_ids("AB, \u00C1"), (Ids{2, 5, 6, 7, 5, 3}));
  EXPECT_EQ(lower.decode(Ids{2, 5, 6, 7, 5, 3}), "ab, a");
  EXPECT_EQ(lower.encode_pair("a", "a").type_ids, (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
  write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(text::Tokenizer::load(folder_ / "vocab.txt").encode_ids("A a"), (Ids{2, 4, 5, 3}));
  write("tokenizer_config.json", R"({"do_lower_case": "no"})");
  EXPECT_NE(message(folder_).find("tokenizer_config.json: do_lower_case must be true or false"), std::string::npos);
  write("vocab.txt", "[CLS]\n[SEP]\n");
  fs::remove(folder_ / "tokenizer_config.json");
  EXPECT_NE(message(folder_).find("has no line [UNK]"), std::string::npos) << message(folder_);
}

// bert-base-uncased and others of its time have a tokenizer.json whose model has no type.
TEST_F(LoadTokenizer, ModelsWithoutAType) {
  const auto ids = [&](const std::string& model, const std::string& others = "") {
    write("tokenizer.json", "{" + others + R"("pre_tokenizer": {"type": "Whitespace"}, "model": )" + model + "}");
    return text::Tokenizer::load(folder_).encode_ids("ab b");
  };
  EXPECT_EQ(ids(R"({"unk_token": "?", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                    "vocab": {"?": 0, "a": 1, "##b": 2, "b": 3}})"),
            (Ids{1, 2, 3}));
  EXPECT_EQ(ids(R"({"dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
                    "fuse_unk": false, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})"),
            (Ids{2, 1}));
  EXPECT_EQ(ids(R"({"unk_id": 0, "vocab": [["?", 0], ["a", -1], ["b", -1], ["ab", -1.5]]})"), (Ids{3, 2}));
  EXPECT_EQ(ids(R"({"unk_token": "?", "vocab": {"?": 0, "ab": 1}})"), (Ids{1, 0}));
  write("tokenizer.json", R"({"model": {"vocab": {"a": 0}}})");
  EXPECT_NE(message(folder_).find("model.type is missing"), std::string::npos) << message(folder_);
}

TEST_F(LoadTokenizer, SpecialTokensAsObjects) {
  write("vocab.txt", "[PAD]\n<u>\n[CLS]\n[SEP]\n[MASK]\na\n");
  write("tokenizer_config.json", R"({"unk_token": {"__type": "AddedToken", "content": "<u>", "lstrip": false}})");
  EXPECT_EQ(text::Tokenizer::load(folder_).encode_ids("a b"), (Ids{2, 5, 1, 3}));
  write("tokenizer_config.json", R"({"unk_token": {"lstrip": false}})");
  EXPECT_NE(message(folder_).find("unk_token.content is missing"), std::string::npos) << message(folder_);
}

TEST_F(LoadTokenizer, MarianFolder) {
  const std::string model = read_file("tests/fixtures/data/text/spm_unigram.model");
  write("source.spm", model);
  EXPECT_NE(message(folder_).find("has source.spm but no target.spm"), std::string::npos) << message(folder_);
  write("target.spm", model);
  write("vocab.json", R"({"</s>": 0, "<unk>": 1, "\u2581": 2, "st": 3, "an": 4, "<pad>": 5, ">>fra<<": 6})");
  const text::Tokenizer tokenizer = text::Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.encode_ids(""), (Ids{0}));
  EXPECT_EQ(tokenizer.encode_ids(">>fra<<\u0130stan"), (Ids{6, 2, 1, 3, 4, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{2, 3, 4, 0}), "stan");
  EXPECT_EQ(tokenizer.decode(Ids{2, 3, 0, 5}, {.skip_special_tokens = false}), "st</s> <pad>");
  write("vocab.json", R"({"</s>": 0, "<unk>": 1})");
  EXPECT_NE(message(folder_).find("has no token <pad>"), std::string::npos) << message(folder_);
}

TEST_F(LoadTokenizer, SentencePieceByName) {
  const std::string model = read_file("tests/fixtures/data/text/spm_bpe.model");
  for (const char* name : {"spiece.model", "tokenizer.model"}) {
    write(name, model);
    EXPECT_EQ(text::Tokenizer::load(folder_).decode(text::Tokenizer::load(folder_ / name).encode_ids("I am here.")),
              "I am here.");
    fs::remove(folder_ / name);
  }
  write("spiece.model", "");
  EXPECT_NE(message(folder_).find("spiece.model: has no pieces"), std::string::npos) << message(folder_);
  write("spiece.model", "\x0a\xff\xff\xff\xff\x0f");
  EXPECT_NE(message(folder_).find("ends too early"), std::string::npos) << message(folder_);
}

}  // namespace
}  // namespace attend
