// attend tokenize and attend train-tokenizer, without a process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/cli/commands/tokenize.h"
#include "attend/cli/commands/train_tokenizer.h"

namespace attend {
namespace {

constexpr const char* kTokenizer = "tests/fixtures/data/text/bytelevel_bpe_roberta.tokenizer.json";

std::string tokenize(const cli::TokenizeOptions& options, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, err;
  cli::run_tokenize(options, {.in = in, .out = out, .err = err});
  return out.str();
}

TEST(TokenizeCommand, LinesToIdsAndBack) {
  const std::string text = "Hello, world!\n\nünïcödé 日本\n";
  const std::string ids = tokenize({.tokenizer = kTokenizer}, text);
  EXPECT_EQ(ids.substr(ids.find('\n') + 1, 4), "0 2\n");  // the empty line
  EXPECT_EQ(tokenize({.tokenizer = kTokenizer, .decode = true}, ids), " Hello, world!\n\n ünïcödé 日本\n");
}

TEST(TokenizeCommand, Json) {
  const std::string out = tokenize({.tokenizer = kTokenizer, .json = true}, "{\"text\": \"a\", \"pair\": \"a\"}\n");
  EXPECT_EQ(out,
            "{\"ids\":[0,296,2,2,296,2],\"tokens\":[\"<s>\",\"Ġa\",\"</s>\",\"</s>\",\"Ġa\",\"</s>\"],"
            "\"offsets\":[[0,0],[0,1],[0,0],[0,0],[0,1],[0,0]],\"type_ids\":[0,0,0,0,0,0],\"decoded\":\" a a\"}\n");
  EXPECT_EQ(tokenize({.tokenizer = kTokenizer, .json = true, .decode = true}, "{\"ids\": [0, 296]}"),
            "{\"decoded\":\" a\"}\n");
}

TEST(TokenizeCommand, TakesSentencePieceFiles) {
  const std::string model = "tests/fixtures/data/text/spm_bpe.model";
  EXPECT_EQ(tokenize({.tokenizer = model}, "  two  spaces  \n"), "267 694 661 271 676 480 264\n");
  EXPECT_EQ(tokenize({.tokenizer = model, .decode = true}, "267 694 661 271 676 480 264\n"), "two spaces\n");
  EXPECT_EQ(tokenize({.tokenizer = model, .json = true}, "{\"text\": \"two\"}\n"),
            "{\"ids\":[267,694,661],\"tokens\":[\"▁t\",\"w\",\"o\"],\"offsets\":[[0,1],[1,2],[2,3]],"
            "\"type_ids\":[0,0,0],\"decoded\":\"two\"}\n");
}

TEST(TokenizeCommand, SaysWhichLineIsWrong) {
  const auto message = [](const cli::TokenizeOptions& options, const std::string& input) -> std::string {
    try {
      tokenize(options, input);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({.tokenizer = kTokenizer}, "fine\n\xFF\n").find("line 2"), std::string::npos);
  EXPECT_NE(message({.tokenizer = kTokenizer, .decode = true}, "1 2 x").find("line 1"), std::string::npos);
  EXPECT_NE(message({.tokenizer = kTokenizer, .json = true}, "{\"txt\": 1}").find("\"text\""), std::string::npos);
  EXPECT_NE(message({.tokenizer = "nowhere.json"}, "").find("nowhere.json"), std::string::npos);
}

TEST(TrainTokenizerCommand, WritesAFileThatTokenizes) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("attend_train_" + std::to_string(std::rand()));
  std::string text;
  for (int i = 0; i < 50; ++i) text += "I am a student and she is a student too.\nI am \xFF broken\n";
  write_file(folder / "text", text);
  std::istringstream in;
  std::ostringstream out, err;
  cli::run_train_tokenizer(
      {.files = {(folder / "text").string()}, .out = (folder / "tokenizer.json").string(), .vocabulary = 275},
      {.in = in, .out = out, .err = err});
  EXPECT_NE(out.str().find("275 tokens from 100 lines"), std::string::npos) << out.str();
  EXPECT_NE(err.str().find("50 lines are not UTF-8"), std::string::npos) << err.str();
  const std::string ids = tokenize({.tokenizer = folder.string()}, "a student\n");
  EXPECT_EQ(tokenize({.tokenizer = folder.string(), .decode = true}, ids), "a student\n");
  EXPECT_LT(ids.size(), 12u) << ids;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend
