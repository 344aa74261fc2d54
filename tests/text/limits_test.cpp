// A tokenizer.json that asks for too much: patterns that are too deep, texts that grow without end, padding by the
// gigabyte. Each ends soon, in an Error that names the limit.
#include "attend/base/limits.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "attend/base/error.h"
#include "attend/text/tokenizer.h"

namespace attend::limits_test {
namespace {

constexpr const char* kModel = R"("model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";

text::Tokenizer with(const std::string& rest) {
  return text::Tokenizer::parse("{" + std::string(kModel) + rest + "}", "x.json");
}

std::string repeated(const std::string& part, std::size_t count, const std::string& between = "") {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i ? between : "") + part;
  return text;
}

std::string split_by(const std::string& regex) {
  return R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": ")" + regex + R"("}, "behavior": "Isolated"})";
}

void expect_error(const std::string& part, const std::function<void()>& act) {
  try {
    act();
    ADD_FAILURE() << "no error that names " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(TokenizerLimits, DeepPatterns) {
  // 154 kB of tokenizer.json once were a stack overflow.
  expect_error("kLongestPattern", [] { with(split_by("a" + repeated("{1}", 50000))); });
  expect_error("kDeepestPattern", [] { with(split_by("a" + repeated("{1}", 5000))); });
  expect_error("kDeepestPattern", [] { with(split_by(repeated("(", 40) + "a" + repeated(")", 40))); });
  expect_error("kLargestPattern", [] { with(split_by("a{100}{100}{100}")); });
  EXPECT_EQ(with(split_by(repeated("(", 31) + "a" + repeated(")", 31))).encode_ids("ab").size(), 2u);
  EXPECT_EQ(with(split_by("a{1}{1}{1}")).encode_ids("aab").size(), 3u);
  // A class that is repeated is there once: 16 kB of it, written out 10,000 times, would be 2.6 GB.
  expect_error("kLargestPattern", [] { with(split_by("[" + repeated("bc", 8000) + "]{100}{100}{100}")); });
}

TEST(TokenizerLimits, DeepSteps) {
  const auto nested = [](const std::string& type, const std::string& list, int depth) {
    return repeated(R"({"type": "Sequence", ")" + list + R"(": [)", depth) + type + repeated("]}", depth);
  };
  expect_error("nested", [&] { with(R"(, "normalizer": )" + nested(R"({"type": "NFC"})", "normalizers", 5000)); });
  EXPECT_EQ(with(R"(, "normalizer": )" + nested(R"({"type": "NFC"})", "normalizers", 20)).encode_ids("ab").size(), 1u);
}

TEST(TokenizerLimits, ManySteps) {
  const auto list = [](const std::string& step) { return "[" + repeated(step, 1000, ",") + "]}"; };
  for (const std::string& part :
       {R"(, "normalizer": {"type": "Sequence", "normalizers": )" + list(R"({"type": "NFC"})"),
        R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": )" + list(R"({"type": "Whitespace"})"),
        R"(, "decoder": {"type": "Sequence", "decoders": )" + list(R"({"type": "Fuse"})"),
        R"(, "post_processor": {"type": "Sequence", "processors": )" + list(R"({"type": "ByteLevel"})")})
    expect_error("has 1001 steps; the most is 128 (kMostSteps", [&] { with(part); });
}

TEST(TokenizerLimits, TextsThatGrow) {
  const auto normalizers = [](const std::string& step, int count) {
    return with(R"(, "normalizer": {"type": "Sequence", "normalizers": [)" + repeated(step, count, ",") + "]}");
  };
  const std::string prepend = R"({"type": "Prepend", "prepend": ")" + std::string(60000, 'a') + R"("})";
  const std::string replace = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"})";
  const std::string pattern = R"({"type": "Replace", "pattern": {"Regex": "a"}, "content": "aaaa"})";
  const std::string bytes = R"({"type": "ByteLevel"})";
  for (const text::Tokenizer& tokenizer :
       {normalizers(prepend, 100), normalizers(replace, 30), normalizers(pattern, 30), normalizers(bytes, 100)}) {
    expect_error("kTextGrowth", [&] { (void)tokenizer.encode_ids("\u00e9 aaa"); });
    expect_error("kTextGrowth", [&] { (void)tokenizer.encode("\u00e9 aaa"); });
  }
  // In every part of a text that many added tokens cut.
  const text::Tokenizer parts =
      with(R"(, "normalizer": )" + prepend + R"(, "added_tokens": [{"id": 3, "content": "<x>", "special": true}])");
  EXPECT_EQ(parts.encode_ids("a<x>").size(), 60002u);
  expect_error("kTextGrowth", [&] { (void)parts.encode_ids(repeated("a<x>", 1000)); });
  const text::Tokenizer words = with(R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" +
                                     repeated(R"({"type": "ByteLevel", "add_prefix_space": false})", 100, ",") + "]}");
  expect_error("kTextGrowth", [&] { (void)words.encode_ids("\u00e9"); });
}

TEST(TokenizerLimits, PatternsShareTheStepsOfAText) {
  // Each word alone would be quick to give up; a thousand of them are not.
  const std::string slow = repeated("((?=a)|(?=a))", 18) + "b";
  const text::Tokenizer tokenizer =
      with(R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"},
              {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": ")" +
           slow + R"("}}]})");
  expect_error("kPatternStepsPerByte", [&] { (void)tokenizer.encode_ids(repeated("a", 1000, " ")); });
}

TEST(TokenizerLimits, Padding) {
  const auto padding = [](const std::string& token, const std::string& length) {
    return R"(, "padding": {"strategy": {"Fixed": )" + length + R"(}, "pad_id": 0, "pad_type_id": 0, "pad_token": ")" +
           token + R"("})";
  };
  expect_error("padding.strategy.Fixed must be from 0 to 131072", [&] { with(padding("p", "1000000")); });
  expect_error("kLongestToken", [&] { with(padding(std::string(6000, 'p'), "1000")); });
  EXPECT_EQ(with(padding("p", "1000")).encode("ab").size(), 1000u);
}

TEST(TokenizerLimits, LongTokens) {
  const std::string token(2000, 'a');
  expect_error("kLongestToken", [&] {
    text::Tokenizer::parse(
        R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["u", 0], [")" + token + R"(", -1]]}})", "x.json");
  });
  expect_error("kLongestToken", [&] { with(R"(, "added_tokens": [{"id": 3, "content": ")" + token + R"("}])"); });
  // As long as it was before it was normalized is not long enough.
  expect_error("kLongestToken", [&] {
    with(R"(, "normalizer": {"type": "Replace", "pattern": {"String": "x"}, "content": ")" + token +
         R"("}, "added_tokens": [{"id": 3, "content": "x"}])");
  });
  expect_error("kLongestFixedPattern", [&] {
    with(R"(, "normalizer": {"type": "Replace", "pattern": {"String": ")" + token + R"("}, "content": "b"})");
  });
}

TEST(TokenizerLimits, DecodersThatGrow) {
  const text::Tokenizer tokenizer =
      with(R"(, "decoder": {"type": "Replace", "pattern": {"String": "a"}, "content": ")" + std::string(50000, 'b') +
           R"("})");
  EXPECT_EQ(tokenizer.decode(std::vector<text::TokenId>(1, 0)).size(), 50000u);
  expect_error("kTextGrowth", [&] { (void)tokenizer.decode(std::vector<text::TokenId>(1000, 0)); });
}

}  // namespace
}  // namespace attend::limits_test
