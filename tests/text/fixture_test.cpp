// Every text of the reference files, encoded and decoded as tokenizers 0.23, sentencepiece 0.2 and transformers 5.17
// do. The small tokenizers are in the tree; those of GPT-2, MiniLM, BERT and OPUS-MT are taken from ../shared where
// that is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/text/tokenizer.h"
#include "tests/base/fixtures.h"

namespace attend {

std::ostream& operator<<(std::ostream& out, const text::Span& span) { return out << span.begin << "-" << span.end; }

namespace {

namespace fs = std::filesystem;

std::vector<text::Span> spans_of(const Json& json) {
  std::vector<text::Span> spans;
  for (const Json& item : json) spans.push_back({item[0].get<std::uint32_t>(), item[1].get<std::uint32_t>()});
  return spans;
}

void expect_case(const text::Tokenizer& tokenizer, const Json& item) {
  const auto text = item["text"].get<std::string>();
  SCOPED_TRACE(item["text"].dump());
  const text::Encoding encoding = tokenizer.encode(text);
  const auto ids = item["ids"].get<std::vector<text::TokenId>>();
  EXPECT_EQ(encoding.ids, ids);
  EXPECT_EQ(tokenizer.encode_ids(text), ids);
  EXPECT_EQ(encoding.type_ids, std::vector<std::int32_t>(ids.size(), 0));
  const char* tokens = item.contains("pieces") ? "pieces" : "tokens";  // as SentencePiece calls them
  if (item.contains(tokens)) {
    EXPECT_EQ(encoding.tokens, item[tokens].get<std::vector<std::string>>());
  }
  if (item.contains("offsets")) {
    EXPECT_EQ(encoding.offsets, spans_of(item["offsets"]));
  }
  EXPECT_EQ(tokenizer.decode(ids), item["decoded"].get<std::string>());
  if (item.contains("decoded_with_special")) {
    EXPECT_EQ(tokenizer.decode(ids, {.skip_special_tokens = false}), item["decoded_with_special"].get<std::string>());
  }
}

void expect_cases(const text::Tokenizer& tokenizer, const fs::path& path) {
  const Json file = read_json(path);
  const bool list = file.is_array();
  int passed = 0, failed = 0;
  const auto count = [&](const auto& expect) {
    const auto before = testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    expect();
    const auto now = testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    ++(now == before ? passed : failed);
  };
  for (const Json& item : list ? file : file["cases"]) count([&] { expect_case(tokenizer, item); });
  if (!list && file.contains("pairs")) {
    for (const Json& item : file["pairs"]) {
      SCOPED_TRACE(item.dump());
      count([&] {
        const text::Encoding encoding =
            tokenizer.encode_pair(item["a"].get<std::string>(), item["b"].get<std::string>());
        EXPECT_EQ(encoding.ids, item["ids"].get<std::vector<text::TokenId>>());
        EXPECT_EQ(encoding.type_ids, item["type_ids"].get<std::vector<std::int32_t>>());
      });
    }
  }
  EXPECT_GT(passed, 0);
  EXPECT_EQ(failed, 0) << path << ": " << passed << " cases pass, " << failed << " do not";
  testing::Test::RecordProperty("cases", passed);
}

// X.cases.json, and what is beside it: X.tokenizer.json, or SentencePiece's X.model.
std::vector<test::FixtureCase> tokenizer_cases() {
  std::vector<test::FixtureCase> cases;
  const fs::path folder = test::fixtures("text");
  if (!fs::is_directory(folder)) return test::or_skipped(cases);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    for (const std::string ending : {".tokenizer.json", ".model"})
      if (file.ends_with(ending) && fs::exists(folder / (file.substr(0, file.size() - ending.size()) + ".cases.json")))
        cases.push_back({file.substr(0, file.size() - ending.size()), folder, {{"tokenizer", file}}});
  }
  std::ranges::sort(cases, {}, &test::FixtureCase::name);
  return test::or_skipped(cases);
}

class TokenizerFixture : public testing::TestWithParam<test::FixtureCase> {
 protected:
  void SetUp() override {
    if (GetParam().folder.empty()) GTEST_SKIP() << test::kNoFixture;
  }
  static void expect_in(const fs::path& folder) {
    const fs::path cases = folder / (GetParam().name + ".cases.json");
    if (!fs::exists(cases)) GTEST_SKIP() << cases << " is not there";
    expect_cases(text::Tokenizer::load(folder / GetParam().notes["tokenizer"].text()), cases);
  }
};

TEST_P(TokenizerFixture, AgreesOnEveryText) { expect_in(GetParam().folder); }

// The same with the long texts, which are too large for the tree.
TEST_P(TokenizerFixture, AgreesOnLongTexts) { expect_in("../shared/fixtures/text"); }

TEST(TokenizerFiles, EveryKindIsThere) {
  if (test::fixtures_given()) GTEST_SKIP() << "ATTEND_FIXTURES may hold a few of them";
  const std::vector<test::FixtureCase> cases = tokenizer_cases();
  for (const char* name : {"bytelevel_bpe_roberta", "classic_bpe", "llama_style_bpe", "unigram_metaspace",
                           "wordpiece_cased", "spm_unigram", "spm_bpe"})
    EXPECT_EQ(std::ranges::count(cases, name, &test::FixtureCase::name), 1) << name;
}

INSTANTIATE_TEST_SUITE_P(Small, TokenizerFixture, testing::ValuesIn(tokenizer_cases()),
                         [](const auto& info) { return test::test_name(info.param.name); });

// The tokenizers of real models, unpacked for as long as the test runs.
class RealTokenizer : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path archive = "../shared/data/tokenizers.tar.xz";
    if (!fs::exists(archive) || !fs::exists(kCases)) GTEST_SKIP() << archive << " or " << kCases << " is not there";
    folder_ = fs::temp_directory_path() / ("attend_real_" + std::to_string(std::rand()));
    fs::create_directories(folder_);
    const std::string command = "tar -xf " + archive.string() + " -C " + folder_.string();
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  fs::path files() const { return folder_ / "tokenizers"; }
  static constexpr const char* kCases = "../shared/fixtures/text/";

 private:
  fs::path folder_;
};

TEST_F(RealTokenizer, Gpt2) {
  expect_cases(text::Tokenizer::load(files() / "gpt2"), std::string(kCases) + "real_gpt2.cases.json");
  fs::remove(files() / "gpt2" / "tokenizer.json");  // and from the files of its first release
  expect_cases(text::Tokenizer::load(files() / "gpt2"), std::string(kCases) + "real_gpt2.cases.json");
  fs::rename(files() / "gpt2" / "encoder.json", files() / "gpt2" / "vocab.json");
  fs::rename(files() / "gpt2" / "vocab.bpe", files() / "gpt2" / "merges.txt");
  expect_cases(text::Tokenizer::load(files() / "gpt2"), std::string(kCases) + "real_gpt2.cases.json");
}

TEST_F(RealTokenizer, MiniLm) {
  expect_cases(text::Tokenizer::load(files() / "minilm"), std::string(kCases) + "real_minilm.cases.json");
}

// Its vocabulary is MiniLM's.
TEST_F(RealTokenizer, BertFromVocabTxt) {
  expect_cases(text::Tokenizer::load(files() / "bert-uncased"), std::string(kCases) + "real_minilm.cases.json");
}

TEST_F(RealTokenizer, OpusMt) {
  expect_cases(text::Tokenizer::load(files() / "opus-mt-en-mg"), std::string(kCases) + "real_opus_mt.cases.json");
}

}  // namespace
}  // namespace attend
