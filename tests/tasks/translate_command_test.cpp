// attend translate without a process: what it prints for each form of output, and how it fails.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"
#include "tests/tasks/translator_fixture.h"

namespace attend::test {
namespace {

Outcome translate(std::vector<std::string> args, const std::string& input) {
  args.insert(args.begin(), "translate");
  return run_attend(args, input);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

constexpr const char* kInput = "I am a student.\n\nthe house is blue & green\r\nHe";

TEST(TranslateCommand, KeepsLinesInOrder) {
  const ModelFolder folder;
  const std::string model = folder.path().string();
  const Outcome plain = translate({"--model", model, "--threads", "1"}, kInput);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.err, "");
  const std::vector<std::string> lines = lines_of(plain.out);
  ASSERT_EQ(lines.size(), 4u) << plain.out;
  EXPECT_EQ(lines[1], "");
  EXPECT_EQ(plain.out.back(), '\n');
  EXPECT_EQ(translate({"--model", model, "--batch", "1"}, kInput).out, plain.out);
  EXPECT_EQ(translate({"--model", model, "--unbuffered"}, kInput).out, plain.out);
  // The same from two files, into a third.
  write_file(folder.path() / "a.txt", "I am a student.\n\n");
  write_file(folder.path() / "b.txt", "the house is blue & green\nHe");
  const Outcome files =
      translate({"--model", model, folder / "a.txt", folder / "b.txt", "--output", folder / "out.txt"}, "not read");
  EXPECT_EQ(files.code, 0) << files.err;
  EXPECT_EQ(files.out, "");
  EXPECT_EQ(read_file(folder.path() / "out.txt"), plain.out);
  EXPECT_EQ(translate({"--model", model}, "").out, "");
}

TEST(TranslateCommand, ListsTheBest) {
  const ModelFolder folder;
  const Outcome result = translate({"--model", folder.path().string(), "--n-best", "3", "--beams", "12"}, kInput);
  EXPECT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 9u) << "three a line, none for the empty one";
  double last = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i].rfind("1 ||| -", 0), 0u) << lines[i];
    const double score = std::stod(lines[i].substr(6));
    EXPECT_LE(score, last);
    last = score;
  }
  EXPECT_EQ(lines[3].rfind("3 ||| -", 0), 0u);
}

TEST(TranslateCommand, AnObjectALineAndNoTextTwice) {
  const ModelFolder folder;
  const Outcome result =
      translate({"--model", folder.path().string(), "--n-best", "4", "--beams", "6", "--json", "--alignments"}, kInput);
  EXPECT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), lines_of(kInput).size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Json json = Json::parse(lines[i]);
    EXPECT_EQ(json["line"], i + 1);
    EXPECT_EQ(lines_of(kInput)[i].rfind(json["source"].get<std::string>(), 0), 0u);  // without the return
    std::set<std::string> seen;
    for (const auto& one : json["translations"]) EXPECT_TRUE(seen.insert(one["text"].get<std::string>()).second);
    EXPECT_LE(seen.size(), 4u);
    EXPECT_EQ(json["text"].get<std::string>().empty(), seen.empty());
  }
}

TEST(TranslateCommand, ShowsAttentionInEveryForm) {
  const ModelFolder folder;
  const Outcome result = translate({"--model", folder.path().string(), "--alignments", "--show-attention",
                                    "--attention", folder / "a.json", "--attention-svg", folder / "a.svg"},
                                   kInput);
  EXPECT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  EXPECT_NE(lines.at(0).find("\t"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("student."), std::string::npos) << result.out;
  const Json json = Json::parse(read_file(folder.path() / "a.json"));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[1]["line"], 3);
  EXPECT_EQ(json[0]["source"], (std::vector<std::string>{"I", "am", "a", "student.", "</s>"}));
  EXPECT_EQ(json[0]["weights"].size(), json[0]["target"].size());
  EXPECT_EQ(json[0]["weights"][0].size(), 5u);
  EXPECT_NE(read_file(folder.path() / "a.svg").find("</svg>"), std::string::npos);
  EXPECT_NE(read_file(folder.path() / "a-2.svg").find("blue &amp; green"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a-3.svg"));
}

TEST(TranslateCommand, SamplesByItsSeed) {
  const ModelFolder folder;
  const auto with_seed = [&](const std::string& seed) {
    return translate({"--model", folder.path().string(), "--sample", "--temperature", "1.5", "--seed", seed}, kInput)
        .out;
  };
  EXPECT_EQ(with_seed("1"), with_seed("1"));
  EXPECT_NE(with_seed("1"), with_seed("2"));
}

TEST(TranslateCommand, SaysWhatIsWrong) {
  const ModelFolder folder;
  const std::string model = folder.path().string();
  write_file(folder.path() / "empty" / "note.txt", "");
  for (const auto& [args, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--model", "no/such/folder"}, "no/such/folder"},
           {{"--model", folder / "empty"}, "config.json"},
           {{"--model", model, folder / "missing.txt"}, "missing.txt"},
           {{"--model", model, "--beams", "0"}, "beams"},
           {{"--model", model, "--n-best", "9"}, "9"},
           {{"--model", model, "--top-k", "3"}, "--sample"},
           {{"--model", model, "--device", "abacus"}, "abacus"}}) {
    const Outcome result = translate(args, "a\n");
    EXPECT_EQ(result.code, 1) << part;
    EXPECT_EQ(result.err.rfind("attend: ", 0), 0u) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
  const Outcome help = translate({"--help"}, "");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
}

}  // namespace
}  // namespace attend::test
