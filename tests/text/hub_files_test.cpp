// Tokenizer files as repositories of the Hugging Face hub have them: models without a type, tokens as objects, tokens
// and switches in files beside the vocabulary. The ids are those that transformers gives for the same files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/text/tokenizer.h"

namespace attend {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<text::TokenId>;

class HubTokenizer : public testing::Test {
 protected:
  HubTokenizer() : folder_(fs::temp_directory_path() / ("attend_hub_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~HubTokenizer() override { fs::remove_all(folder_); }
  void write(const char* name, const std::string& content) const { write_file(folder_ / name, content); }
  Ids encode(std::string_view text) const { return text::Tokenizer::load(folder_).encode_ids(text); }
  fs::path folder_;
};

Json fixture(const std::string& name) {
  return read_json(fs::path("tests/fixtures/data/text") / (name + ".tokenizer.json"));
}

TEST_F(HubTokenizer, AModelWithoutATypeIsWhatItsMembersSay) {
  for (const char* name : {"wordpiece_cased", "unigram_metaspace", "classic_bpe", "bytelevel_bpe_roberta"}) {
    Json json = fixture(name);
    const text::Tokenizer typed = text::Tokenizer::parse(json.dump(), name);
    json["model"].erase("type");
    const text::Tokenizer untyped = text::Tokenizer::parse(json.dump(), name);
    for (const char* text : {"A model of language, and words", "z\xC3\xBCrich 42"})
      EXPECT_EQ(untyped.encode_ids(text), typed.encode_ids(text)) << name;
  }
  const text::Tokenizer words = text::Tokenizer::parse(
      R"({"pre_tokenizer": {"type": "Whitespace"}, "model": {"vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"}})",
      "words");
  EXPECT_EQ(words.encode_ids("b c a"), (Ids{1, 2, 0}));
}

TEST_F(HubTokenizer, RobertasMaskTakesTheSpaceBeforeIt) {
  write("vocab.json", R"({"a": 0, "b": 1, "\u0120": 2, "<s>": 3, "</s>": 4, "<mask>": 5, "<unk>": 6, "<pad>": 7})");
  write("merges.txt", "#version: 0.2\n");
  EXPECT_EQ(encode("a <mask> b"), (Ids{0, 2, 5, 2, 1}));  // GPT-2: nothing is known of a mask
  for (const char* type : {"roberta", "longformer"}) {
    write("config.json", Json({{"model_type", type}}).dump());
    EXPECT_EQ(encode("a <mask> b"), (Ids{3, 0, 5, 2, 1, 4})) << type;
  }
}

TEST_F(HubTokenizer, TokensBesideTheVocabulary) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ndog\n");
  EXPECT_EQ(encode("the <x> dog"), (Ids{2, 5, 1, 1, 1, 6, 3}));
  write("added_tokens.json", R"({"<x>": 7})");
  EXPECT_EQ(encode("the <x> dog"), (Ids{2, 5, 7, 6, 3}));
  write("special_tokens_map.json", R"({"additional_special_tokens": ["<x>"], "unk_token": {"content": "[UNK]"}})");
  EXPECT_EQ(text::Tokenizer::load(folder_).decode(Ids{5, 7, 6}), "the dog");
  // What tokenizer_config.json says of a token stands above the others, and names may be objects.
  write("tokenizer_config.json",
        R"({"unk_token": {"content": "[UNK]", "lstrip": false}, "added_tokens_decoder":
            {"8": {"content": "<y>", "lstrip": false, "rstrip": false, "single_word": false, "normalized": false,
                   "special": false}}})");
  EXPECT_EQ(encode("the <y><x>"), (Ids{2, 5, 8, 7, 3}));
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "<y>"}}})");
  EXPECT_THROW(encode("the"), Error);
}

TEST_F(HubTokenizer, TheConfigSaysWhetherBertReadsCapitals) {
  Json json = fixture("wordpiece_cased");
  json["normalizer"] = {{"type", "BertNormalizer"},
                        {"lowercase", true},
                        {"clean_text", true},
                        {"handle_chinese_chars", true},
                        {"strip_accents", nullptr}};
  write("tokenizer.json", json.dump());
  const Ids lower = encode("The Dog");
  EXPECT_EQ(lower, encode("the dog"));
  write("tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_NE(encode("The Dog"), lower);
  EXPECT_EQ(encode("the dog"), lower);
}

// fairseq's dictionary: <s>, <pad>, </s>, <unk>, then SentencePiece's pieces, which begin behind <unk>, <s> and </s>.
TEST_F(HubTokenizer, XlmRobertaFromItsSentencePieceFileAlone) {
  fs::copy_file("tests/fixtures/data/text/spm_unigram.model", folder_ / "sentencepiece.bpe.model");
  const text::Tokenizer plain = text::Tokenizer::load(folder_ / "sentencepiece.bpe.model");
  const std::string text = "the quick brown fox";
  Ids want = {0};
  for (const text::TokenId id : plain.encode_ids(text)) want.push_back(id == 0 ? 3 : id + 1);
  want.push_back(2);
  write("config.json", R"({"model_type": "xlm-roberta"})");
  const text::Tokenizer tokenizer = text::Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.encode_ids(text), want);
  EXPECT_EQ(tokenizer.decode(want), plain.decode(plain.encode_ids(text)));
  EXPECT_EQ(tokenizer.token_to_id("<mask>"), static_cast<text::TokenId>(plain.vocabulary_size()) + 1);
  EXPECT_EQ(tokenizer.encode_ids("the <mask>").at(want.size() > 3 ? 2 : 1), *tokenizer.token_to_id("<mask>"));
}

TEST_F(HubTokenizer, AnAddedTokenBeyondTheModelIsRefusedWhenItIsUsed) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n");
  write("added_tokens.json", R"({"[NEW]": 6})");
  text::Tokenizer tokenizer = text::Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.id_limit(), 7);
  tokenizer.fit(6, "model");
  EXPECT_EQ(tokenizer.id_limit(), 6);
  EXPECT_EQ(tokenizer.encode_ids("the"), (Ids{2, 5, 3}));
  try {
    tokenizer.encode_ids("the [NEW]");
    FAIL() << "a token without a row was given to the model";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "model: the text has the token \"[NEW]\" with the id 6, but the model has 6 tokens");
  }
  EXPECT_THROW(tokenizer.fit(5, "model"), Error);  // a token of the vocabulary itself
}

}  // namespace
}  // namespace attend
