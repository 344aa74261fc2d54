// tokenizer.json files that are wrong: each is refused with the file's name and the key.
#include <gtest/gtest.h>

#include <string>

#include "attend/base/error.h"
#include "attend/text/tokenizer.h"

namespace attend {
namespace {

std::string message_of(const std::string& json) {
  try {
    text::Tokenizer::parse(json, "x.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string with_model(const std::string& model, const std::string& rest = "") {
  return R"({"model": )" + model + rest + "}";
}

constexpr const char* kModel = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";

struct Case {
  std::string json, part;  // of the message
};

TEST(HostileTokenizer, IsRefusedByName) {
  const std::string deep(100000, '[');
  const Case cases[] = {
      {"", "not valid JSON"},
      {"[]", "must be an object"},
      {"{}", "model is missing"},
      {"{\"model\": " + deep, "nested"},
      {with_model("7"), "model must be an object"},
      {with_model(R"({"type": "Magic"})"), "model.type is \"Magic\", which is not supported"},
      {with_model(R"({"type": "BPE"})"), "model.vocab is missing"},
      {with_model(R"({"type": "BPE", "vocab": []})"), "model.vocab must be an object"},
      {with_model(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"), "no valid id for \"a\""},
      {with_model(R"({"type": "BPE", "vocab": {"a": 1.5}, "merges": []})"), "no valid id for \"a\""},
      {with_model(R"({"type": "BPE", "vocab": {"a": 99999999999999999999}, "merges": []})"), "no valid id"},
      {with_model(R"({"type": "BPE", "vocab": {"a": 2147483646}, "merges": []})"), "far beyond"},
      {with_model(R"({"type": "BPE", "vocab": {"a": 1, "b": 1}, "merges": []})"), "the same id 1"},
      {with_model(R"({"type": "BPE", "vocab": {"a": 1, "a": 2}, "merges": []})"), "twice"},
      {with_model(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]})"), "needs the token \"b\""},
      {with_model(R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]})"), "needs the token \"ab\""},
      {with_model(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})"), "merges [0] must be two tokens"},
      {with_model(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", 3]]})"), "merges [0] must be two tokens"},
      {with_model(R"({"type": "BPE", "vocab": {"a": 0}, "merges": {}})"), "model.merges must be a list"},
      {with_model(R"({"type": "BPE", "vocab": {}, "merges": [], "unk_token": "u"})"), "model.unk_token is \"u\""},
      {with_model(R"({"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1})"), "model.dropout"},
      {with_model(kModel, R"(, "normalizer": {"type": "Nonsense"})"), "normalizer.type is \"Nonsense\""},
      {with_model(kModel, R"(, "normalizer": {})"), "normalizer.type is missing"},
      {with_model(kModel, R"(, "normalizer": {"type": "Sequence", "normalizers": [{"type": "X"}]})"),
       "normalizer.normalizers[0].type"},
      {with_model(kModel, R"(, "pre_tokenizer": {"type": "ByteLevel", "use_regex": 1})"), "use_regex must be true"},
      {with_model(kModel, R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"})"),
       "pre_tokenizer.pattern.Regex is not usable: the pattern \"(\" has a ( too many"},
      {with_model(kModel, R"(, "decoder": {"type": "Strip", "content": "ab", "start": 1, "stop": 0})"),
       "one character"},
      {with_model(kModel, R"(, "post_processor": {"type": "RobertaProcessing", "sep": ["x"], "cls": ["y", 1]})"),
       "post_processor.sep must be a token and its id"},
      {with_model(kModel, R"(, "post_processor": {"type": "TemplateProcessing", "special_tokens": {}, "pair": [],
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}]})"),
       "not in special_tokens"},
      {with_model(kModel, R"(, "post_processor": {"type": "TemplateProcessing", "special_tokens": {}, "pair": [],
        "single": [{"Sequence": {"id": "B", "type_id": 0}}]})"),
       "is no text"},
      {with_model(kModel, R"(, "added_tokens": [{"id": 9}])"), "added_tokens[0].content is missing"},
      {with_model(kModel, R"(, "added_tokens": [{"id": 9, "content": "a"}])"), "in model.vocab it is 0"},
      {with_model(kModel, R"(, "truncation": {"max_length": -3})"), "truncation.max_length must be from 0"},
      {with_model(kModel, R"(, "truncation": {"max_length": 3, "strategy": "X"})"), "truncation.strategy is \"X\""},
      {with_model(kModel, R"(, "padding": {"strategy": {"Fixed": 99999999999}, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "p"})"),
       "padding.strategy.Fixed must be from 0"},
      {with_model(R"({"type": "WordPiece", "vocab": {"a": 0}})"), "unk_token \"[UNK]\", which is not in its vocab"},
      {with_model(R"({"type": "Unigram", "vocab": [["a", "b"]]})"), "model.vocab [0] must be a token and its score"},
      {with_model(R"({"type": "Unigram", "vocab": [["a", 0], ["a", 0]]})"), "twice"},
      {with_model(R"({"type": "Unigram", "vocab": [["a", 0]], "unk_id": 1})"), "model.unk_id must be from 0 to 0"},
      {with_model(R"({"type": "Unigram", "vocab": [], "unk_id": 0})"), "model.vocab is empty"},
      {with_model(kModel, R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"})"), "is not base64"},
      {with_model(kModel, R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////wAA"})"),
       "precompiled_charsmap is damaged"},
  };
  for (const Case& c : cases) {
    const std::string message = message_of(c.json);
    EXPECT_EQ(message.find("x.json: "), 0u) << message;
    EXPECT_NE(message.find(c.part), std::string::npos) << message << "\n  for " << c.json.substr(0, 200);
  }
}

TEST(HostileTokenizer, PatternsThatNeverEndAreStopped) {
  const auto tokenizer = text::Tokenizer::parse(
      with_model(kModel, R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|a)+(a|a)+(a|a)+c"},
                              "behavior": "Isolated"})"),
      "x.json");
  EXPECT_EQ(tokenizer.encode_ids("ab").size(), 1u);
  EXPECT_THROW(tokenizer.encode_ids(std::string(3000, 'a')), Error);
}

TEST(HostileTokenizer, ManyAddedTokensOnNastyTextIsQuick) {
  std::string added;
  for (int i = 0; i < 500; ++i)
    added += (i ? "," : "") + std::string(R"({"special": true, "content": ")") + std::string(20 + i % 100, '<') +
             std::to_string(i) + R"(", "id": )" + std::to_string(10 + i) + "}";
  const auto tokenizer = text::Tokenizer::parse(with_model(kModel, R"(, "added_tokens": [)" + added + "]"), "x.json");
  EXPECT_EQ(tokenizer.encode_ids(std::string(100000, '<')).size(), 0u);  // unknown and without an unknown token
  EXPECT_EQ(tokenizer.encode_ids(std::string(20, '<') + "0"), std::vector<text::TokenId>{10});
}

}  // namespace
}  // namespace attend
