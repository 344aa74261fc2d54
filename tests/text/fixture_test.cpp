// Every text of the reference files, encoded and decoded as tokenizers 0.23 does. The small tokenizers are in the tree;
// GPT-2's own is taken from ../shared where that is.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/text/tokenizer.h"

namespace attend {

std::ostream& operator<<(std::ostream& out, const Span& span) { return out << span.begin << "-" << span.end; }

namespace {

std::vector<Span> spans_of(const Json& json) {
  std::vector<Span> spans;
  for (const Json& item : json) spans.push_back({item[0].get<std::uint32_t>(), item[1].get<std::uint32_t>()});
  return spans;
}

void expect_cases(const Tokenizer& tokenizer, const std::filesystem::path& path) {
  const Json file = read_json(path);
  const bool list = file.is_array();
  for (const Json& item : list ? file : file["cases"]) {
    const auto text = item["text"].get<std::string>();
    SCOPED_TRACE(item["text"].dump());
    const Encoding encoding = tokenizer.encode(text);
    const auto ids = item["ids"].get<std::vector<TokenId>>();
    EXPECT_EQ(encoding.ids, ids);
    EXPECT_EQ(encoding.tokens, item["tokens"].get<std::vector<std::string>>());
    EXPECT_EQ(encoding.offsets, spans_of(item["offsets"]));
    EXPECT_EQ(encoding.type_ids, std::vector<std::int32_t>(ids.size(), 0));
    EXPECT_EQ(tokenizer.encode_ids(text), ids);
    EXPECT_EQ(tokenizer.decode(ids), item["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer.decode(ids, {.skip_special_tokens = false}), item["decoded_with_special"].get<std::string>());
  }
  if (list || !file.contains("pairs")) return;
  for (const Json& item : file["pairs"]) {
    SCOPED_TRACE(item.dump());
    const Encoding encoding = tokenizer.encode_pair(item["a"].get<std::string>(), item["b"].get<std::string>());
    EXPECT_EQ(encoding.ids, item["ids"].get<std::vector<TokenId>>());
    EXPECT_EQ(encoding.type_ids, item["type_ids"].get<std::vector<std::int32_t>>());
  }
}

class TokenizerFixture : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerFixture, AgreesOnEveryText) {
  const std::string base = std::string("tests/fixtures/data/text/") + GetParam();
  expect_cases(Tokenizer::load(base + ".tokenizer.json"), base + ".cases.json");
}

// The same with the long texts, which are too large for the tree.
TEST_P(TokenizerFixture, AgreesOnLongTexts) {
  const std::string base = std::string("../shared/fixtures/text/") + GetParam();
  if (!std::filesystem::exists(base + ".cases.json")) GTEST_SKIP() << base << ".cases.json is not there";
  expect_cases(Tokenizer::load(base + ".tokenizer.json"), base + ".cases.json");
}

INSTANTIATE_TEST_SUITE_P(Small, TokenizerFixture,
                         testing::Values("bytelevel_bpe_roberta", "classic_bpe", "llama_style_bpe"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Tokenizer, AgreesOnGpt2) {
  namespace fs = std::filesystem;
  const fs::path archive = "../shared/data/tokenizers.tar.xz", cases = "../shared/fixtures/text/real_gpt2.cases.json";
  if (!fs::exists(archive) || !fs::exists(cases)) GTEST_SKIP() << archive << " or " << cases << " is not there";
  const fs::path folder = fs::temp_directory_path() / fs::path("attend_gpt2_" + std::to_string(std::rand()));
  fs::create_directories(folder);
  const std::string command =
      "tar -xf " + archive.string() + " -C " + folder.string() + " tokenizers/gpt2/tokenizer.json";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  expect_cases(Tokenizer::load(folder / "tokenizers" / "gpt2"), cases);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend
