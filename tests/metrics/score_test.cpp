// attend score without a process: files in, lines out, and a message for everything that cannot be scored.
#include "attend/cli/commands/score.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"

namespace attend {
namespace {

using test::Outcome;

class Score : public testing::Test {
 protected:
  Score() : folder_(std::filesystem::temp_directory_path() / ("attend_score_" + std::to_string(getpid()))) {}
  ~Score() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) const {
    write_file(folder_ / name, content);
    return (folder_ / name).string();
  }

  static Outcome score(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), "score");
    return test::run_attend(args, input);
  }

  static void expect_error(const Outcome& result, const std::string& part) {
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.find("attend: "), 0u) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }

  std::filesystem::path folder_;
};

TEST_F(Score, PrintsTheSignatureLine) {
  const std::string h = file("h", "The cat sat on the mat.\nHello world\n");
  const std::string r = file("r", "The cat sat on a mat.\nHello, world!\n");
  const Outcome result = score({"--hypotheses", h, "--references", r});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 38.0 88.9/57.1/40.0/25.0 "
            "(BP = 0.801 ratio = 0.818 hyp_len = 9 ref_len = 11)\n");
  EXPECT_EQ(result.code, 0);
}

TEST_F(Score, ReadsStandardInputAndSeveralReferencesAndMetrics) {
  const std::string r = file("r", "a b c d\n"), s = file("s", "a b c x\n");
  const Outcome result = score(
      {"--hypotheses", "-", "--references", r, s, "--metric", "bleu", "chrf", "ter", "--width", "3"}, "a b c d\n");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out,
            "BLEU|nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 100.000 100.0/100.0/100.0/100.0 "
            "(BP = 1.000 ratio = 1.000 hyp_len = 4 ref_len = 4)\n"
            "chrF2|nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0 = 100.000\n"
            "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0 = 0.000\n");
}

TEST_F(Score, JsonHasTheWholeScore) {
  const std::string h = file("h", "a b c d e\n"), r = file("r", "A b x d y\n");
  const Outcome result = score({"--hypotheses", h, "--references", r, "--lowercase", "--tokenize", "intl", "--json"});
  const Json json = parse_json(result.out, "output");
  EXPECT_EQ(json.at("name"), "BLEU");
  EXPECT_NEAR(json.at("score").get<double>(), 23.643540225079395, 1e-9);
  EXPECT_EQ(json.at("signature"), "nrefs:1|case:lc|eff:no|tok:intl|smooth:exp|version:2.6.0");
  EXPECT_EQ(json.at("tok"), "intl");
  EXPECT_TRUE(json.contains("verbose_score"));
  const Outcome list =
      score({"--hypotheses", h, "--references", r, "--metric", "ter", "chrf", "--json", "--width", "1"});
  const Json both = parse_json(list.out, "output");
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].at("score"), 40.0);
  EXPECT_EQ(both[1].at("name"), "chrF2");
}

TEST_F(Score, SentenceLevelIsALineEach) {
  const std::string h = file("h", "a b\n\nx\n"), r = file("r", "a b\nc\nx\n");
  const Outcome result = score({"--hypotheses", h, "--references", r, "--sentence-level", "--score-only"});
  EXPECT_EQ(result.out, "100.0\n0.0\n100.0\n");
  const Outcome full = score({"--hypotheses", h, "--references", r, "--sentence-level"});
  EXPECT_EQ(full.out.find("BLEU|nrefs:1|case:mixed|eff:yes|"), 0u) << full.out;
  expect_error(score({"--hypotheses", h, "--references", r, "--sentence-level", "--metric", "bleu", "ter"}),
               "one metric");
}

TEST_F(Score, LineEndsDoNotMatter) {
  const std::string unix_lines = file("u", "a b c d\n\ne f g h\n");
  const std::string dos = file("d", "a b c d\r\n\r\ne f g h"), spaced = file("s", "a b c d \t\n \ne f g h\n");
  for (const std::string& h : {unix_lines, dos, spaced})
    for (const char* metric : {"bleu", "chrf", "ter"})
      for (const std::string& r : {unix_lines, dos, spaced}) {
        const Outcome result =
            score({"--hypotheses", h, "--references", r, "--metric", metric, "--score-only", "--chrf-whitespace"});
        EXPECT_EQ(result.out, std::string(metric) == "ter" ? "0.0\n" : "100.0\n") << h << r << metric << result.err;
      }
}

TEST_F(Score, SaysWhatIsWrong) {
  const std::string two = file("two", "a\nb\n"), three = file("three", "a\nb\nc"), empty = file("empty", "");
  const std::string bytes = file("bytes", "fine\nb\xC3\x28\n"), missing = (folder_ / "missing").string();
  const auto run = [&](const std::string& h, const std::string& r) {
    return score({"--hypotheses", h, "--references", r});
  };
  expect_error(run(two, three), "has 2 lines but");
  expect_error(run(two, three), "has 3");
  expect_error(run(empty, two), "is empty");
  expect_error(run(empty, empty), "is empty");
  expect_error(run(two, empty), "has 0");
  expect_error(run(two, bytes), "line 2: not UTF-8 at byte 2");
  expect_error(run(missing, two), "missing");
  expect_error(run(two, missing), "missing");
  expect_error(run(folder_.string(), two), folder_.string());
  expect_error(run("-", two), "standard input is empty");
  expect_error(run("-", "-"), "standard input");
  expect_error(score({"--hypotheses", two}), "--references");
  expect_error(score({"--hypotheses", two, "--references", two, "--metric", "meteor"}), "meteor");
  expect_error(score({"--hypotheses", two, "--references", two, "--tokenize", "zh"}), "zh");
  expect_error(score({"--hypotheses", two, "--references", two, "--smooth-method", "floor", "--smooth-value", "-1"}),
               "smoothing value");
  expect_error(score({"--hypotheses", two, "--references", two, "--metric", "chrf", "--chrf-char-order", "0"}),
               "not both 0");
}

TEST_F(Score, WarnsOfTokenizedText) {
  std::string tokenized;
  for (int i = 0; i < 100; ++i) tokenized += "a b .\n";
  const std::string h = file("h", tokenized);
  const Outcome result = score({"--hypotheses", h, "--references", h, "--score-only"});
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.err.find("100 lines"), std::string::npos);
  EXPECT_EQ(score({"--hypotheses", h, "--references", h, "--metric", "ter"}).err, "");
}

}  // namespace
}  // namespace attend
