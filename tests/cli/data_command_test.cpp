// attend data: a group of commands, and its report.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "attend/base/files.h"
#include "tests/cli/run_attend.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(DataCommand, IsAGroup) {
  EXPECT_TRUE(says(run_attend({"data"}).out, "report"));
  EXPECT_TRUE(says(run_attend({"data", "report", "--help"}).out, "Usage: attend data report [OPTIONS] PATH..."));
  EXPECT_EQ(run_attend({"help", "data", "report"}).out, run_attend({"data", "report", "--help"}).out);
  EXPECT_TRUE(says(run_attend({"data", "reprot"}).err, "data: there is no command 'reprot'; did you mean 'report'?"));
  EXPECT_TRUE(says(run_attend({"data", "report"}).err, "data report needs PATH"));
  EXPECT_TRUE(says(run_attend({"data", "report", "x", "--htm", "y"}).err,
                   "data report: there is no flag '--htm'; did you mean '--html'?"));
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_TRUE(says(run_attend({"completions", shell}).out, "report")) << shell;
}

TEST(DataCommand, ReportsATable) {
  const fs::path folder = fs::temp_directory_path() / ("attend_data_command_" + std::to_string(::getpid()));
  write_file(folder / "q.csv", "question,kind\nwho is it,HUM\nwhere is it,LOC\nwho is it,LOC\n");
  const Outcome text =
      run_attend({"data", "report", (folder / "q.csv").string(), "--html", (folder / "q.html").string()});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(says(text.out, "CSV, texts in 'question', labels in 'kind'")) << text.out;
  EXPECT_TRUE(says(text.out, "two different labels"));
  EXPECT_TRUE(says(read_file(folder / "q.html"), "<!doctype html>"));
  EXPECT_EQ(run_attend({"data", "report", (folder / "none").string()}).code, 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace attend::test
