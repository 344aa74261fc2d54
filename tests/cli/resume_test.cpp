// --resume of commands that read lines: it knows what wrote the file, and says where it differs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/files.h"
#include "tests/cli/run_attend.h"
#include "tests/tasks/changed_folder.h"
#include "tests/train/recipes/folder_bytes.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class ResumeTest : public testing::Test {
 protected:
  ResumeTest() {
    for (int i = 0; i < 40; ++i) lines += std::to_string(i * 7) + " the film is good\n";
    write_file(text, lines);
  }
  ~ResumeTest() override { fs::remove_all(folder); }

  // Windows of 16 lines.
  Outcome translate(const Words& more, const std::string& model = "models/reverse-transformer") const {
    Words words = {"translate", "--model", model, "--batch", "1", "--beams", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_attend(words);
  }
  Outcome resume(const Words& more = {}, const std::string& model = "models/reverse-transformer") const {
    Words words = {text, "--output", out, "--resume"};
    words.insert(words.end(), more.begin(), more.end());
    return translate(words, model);
  }
  void refused(const Outcome& outcome, const std::string& part) const {
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "want '" << part << "' in " << outcome.err;
  }

  const fs::path folder = scratch_folder("attend_resume");
  const std::string text = (folder / "in.txt").string(), out = (folder / "out.txt").string();
  std::string lines;
};

TEST_F(ResumeTest, ACompleteFileIsThatOfTheSameCommand) {
  ASSERT_EQ(resume().code, 0);
  const std::string answers = read_file(out);
  EXPECT_EQ(answers, translate({text}).out);
  const Outcome again = resume();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("is complete"), std::string::npos) << again.err;
  refused(resume({"--n-best", "2", "--beams", "4"}), "another command: beams is 4 for this command, but 1 for");
  // The same name, other weights; other names, the same weights.
  const ChangedFolder copy("models/reverse-transformer");
  EXPECT_EQ(resume({}, copy.path()).code, 0);
  refused(resume({}, "models/reverse-rnn-plain"), "was written by another model: 'models/reverse-transformer'");
  EXPECT_EQ(read_file(out), answers);
  // What was changed afterwards, and what attend did not write.
  write_file(out, answers + "more\n");
  refused(resume(), "was changed since it was written");
  fs::remove(out + ".done");
  refused(resume(), "nothing beside it");
  EXPECT_EQ(read_file(out), answers + "more\n");
  // Without --resume it is replaced, and leaves no record.
  EXPECT_EQ(translate({text, "--output", out}).code, 0);
  EXPECT_EQ(read_file(out), answers);
  EXPECT_FALSE(fs::exists(out + ".done"));
  EXPECT_FALSE(fs::exists(out + ".resume"));
  EXPECT_FALSE(fs::exists(out + ".partial"));
}

TEST_F(ResumeTest, ChangedWeightsAreAnotherModel) {
  const ChangedFolder model("models/reverse-transformer");
  ASSERT_EQ(resume({}, model.path()).code, 0);
  std::string weights = read_file(model.path() + "/model.safetensors");
  weights.back() = static_cast<char>(weights.back() ^ 1);
  write_file(model.path() + "/model.safetensors", weights);
  refused(resume({}, model.path()), "another model: the files of '" + model.path() + "' have changed since");
}

TEST_F(ResumeTest, AnInputThatHasGrownIsGoneOnWith) {
  ASSERT_EQ(resume().code, 0);
  write_file(text, lines + "one more\nand another");
  ASSERT_EQ(resume().code, 0);
  EXPECT_EQ(read_file(out), translate({text}).out);
  write_file(text, lines + "one more\nand another\nthe last\n");  // behind a line that had no end
  ASSERT_EQ(resume().code, 0);
  const std::string answers = read_file(out);
  EXPECT_EQ(answers, translate({text}).out);
  EXPECT_NE(resume().err.find("is complete"), std::string::npos);
  write_file(text, lines + "one more\nand another one\nthe last\n");
  refused(resume(), "was written from other lines: the first 43 of the input have changed since");
  write_file(text, lines);
  refused(resume(), "has answers to 43 lines, but the input has fewer now");
  EXPECT_EQ(read_file(out), answers);
}

// A line in the middle is refused; what is in front of it is kept, and gone on with when the line is good.
TEST_F(ResumeTest, WhatWasAnsweredBeforeABadLineIsKept) {
  write_file(out, "old\n");
  write_file(text, lines + std::string(300, 'x') + "\n" + lines);
  const Outcome failed = translate({text, "--output", out, "--max-line", "200"});
  refused(failed, "line 41: longer than 200 bytes");
  refused(failed, "32 lines before it are answered in '" + out + ".partial', and --resume continues after them");
  EXPECT_EQ(read_file(out), "old\n");
  write_file(text, "other" + lines + "short\n" + lines);
  refused(resume({"--max-line", "200"}), "the first 32 of the input have changed since");
  write_file(text, lines + "short\n" + lines);
  ASSERT_EQ(resume().code, 0);
  EXPECT_EQ(read_file(out), translate({text}).out);
  EXPECT_FALSE(fs::exists(out + ".partial"));
}

// Standard input cannot be read again, but what came before is kept all the same.
TEST_F(ResumeTest, WhatStandardInputSaidBeforeABadLineIsKept) {
  write_file(out, "old\n");
  const Outcome failed = run_attend(
      {"translate", "--model", "models/reverse-transformer", "--batch", "1", "--output", out, "--max-line", "200"},
      lines + std::string(300, 'x') + "\n");
  refused(failed, "32 lines before it are answered in '" + out + ".partial'");
  EXPECT_EQ(read_file(out), "old\n");
}

}  // namespace
}  // namespace attend::test
