// What the program says to who does not know it yet: help, and hints at what was meant.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

std::string out_of(const std::vector<std::string>& words) {
  const Outcome outcome = run_attend(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}
std::string error_of(const std::vector<std::string>& words) {
  const Outcome outcome = run_attend(words);
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  return outcome.err;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
// A flag with its default, as older and newer releases of CLI11 write it.
bool has_default(const std::string& help, const std::string& flag, const std::string& value) {
  return has(help, flag + "=" + value + " ") || has(help, flag + " [" + value + "] ");
}

TEST(Help, IsACommandToo) {
  EXPECT_EQ(out_of({"help"}), out_of({"--help"}));
  EXPECT_EQ(out_of({"help", "translate"}), out_of({"translate", "--help"}));
  EXPECT_EQ(out_of({"help", "train", "--task", "tag"}), out_of({"train", "--task", "tag", "--help"}));
  EXPECT_TRUE(has(error_of({"help", "trian"}), "did you mean 'train'?"));
}

TEST(Help, FlagsThatWereMistyped) {
  EXPECT_EQ(error_of({"translate", "--beam", "3"}),
            "attend: translate: there is no flag '--beam'; did you mean '--beams'? (see attend translate --help)\n");
  EXPECT_TRUE(has(error_of({"train", "--learning_rate=3"}), "did you mean '--learning-rate'?"));
  EXPECT_EQ(error_of({"devices", "--xyzzyxyzzy"}),
            "attend: devices: there is no flag '--xyzzyxyzzy' (see attend devices --help)\n");
  EXPECT_TRUE(has(error_of({"devices", "extra"}), "no place for 'extra'"));
}

TEST(Help, OfATaskShowsItsFlagsWithTheirDefaults) {
  const std::string tag = out_of({"train", "--task", "tag", "--help"});
  EXPECT_TRUE(has(tag, "--label-column")) << tag;
  EXPECT_TRUE(has_default(tag, "--epochs FLOAT", "3")) << tag;
  EXPECT_TRUE(has_default(tag, "--learning-rate FLOAT", "5e-05")) << tag;
  for (const char* part : {"--valid-target", "--patch-size", "--queries", "--masked", "recipes/multi30k"})
    EXPECT_FALSE(has(tag, part)) << part;
  const std::string tiny = out_of({"train", "--task", "translation", "--preset", "tiny", "--help"});
  EXPECT_TRUE(has_default(tiny, "--width INT", "128")) << tiny;
  EXPECT_FALSE(has(tiny, "--cell"));
  EXPECT_TRUE(
      has_default(out_of({"train", "--task=translation", "--model", "rnn-plain", "--help"}), "--cell TEXT", "gru"));
  EXPECT_TRUE(has_default(out_of({"train", "recipes/shakespeare.json", "--help"}), "--block INT", "256"));
  const std::string all = out_of({"train", "--help"});
  EXPECT_TRUE(has(all, "--steps"));
  EXPECT_TRUE(has(all, "language-model"));
  EXPECT_FALSE(has(all, "--patch-size"));
}

TEST(Help, TrainSaysWhatItNeeds) {
  const std::string alone = error_of({"train"});
  for (const char* part : {"--source, --target, --valid-source, --valid-target and --out", "recipes/minutes",
                           "language-model", "attend train --task translation --help"})
    EXPECT_TRUE(has(alone, part)) << alone;
  EXPECT_TRUE(has(error_of({"train", "--task", "masked-lm", "--text", "a"}), "needs --valid-text and --out"));
  const std::string wrong = error_of({"train", "--task", "tag", "--preset", "tiny"});
  EXPECT_TRUE(has(wrong, "--preset is not a flag of --task tag; it belongs to --task translation")) << wrong;
  EXPECT_TRUE(has(error_of({"train", "--text", "a", "--out", "b"}), "it belongs to --task language-model, masked-lm"));
}

TEST(Help, ALearningRateOfNothingIsRefused) {
  EXPECT_TRUE(has(error_of({"train", "--task", "masked-lm", "--text", "a", "--valid-text", "b", "--out", "c",
                            "--learning-rate", "0"}),
                  "nothing is learned"));
}

}  // namespace
}  // namespace attend::test
