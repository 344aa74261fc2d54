// attend look --png and --svg: every view of a text, with title, size, theme and palette.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "attend/base/files.h"
#include "attend/image/decode.h"
#include "tests/cli/run_attend.h"

namespace attend::cli {
namespace {

class FigureFlags : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  test::Outcome draw(std::vector<std::string> more) const {
    std::vector<std::string> words = {"look", "--model", "models/dates", "--text", "12/08/1956"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_attend(words);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = [] {
    const auto folder = std::filesystem::path(::testing::TempDir()) / "attend-figure-flags";
    std::filesystem::create_directories(folder);
    return folder;
  }();
};

TEST_F(FigureFlags, EveryViewOfAText) {
  for (const char* view : {"map", "heads", "words", "all-heads", "generate", "positions"}) {
    const std::string path = file(std::string(view) + ".svg");
    EXPECT_EQ(draw({"--view", view, "--svg", path, "--title", "A whole title"}).code, 0) << view;
    EXPECT_NE(read_file(path).find("A whole title"), std::string::npos) << view;
  }
  EXPECT_NE(draw({"--view", "rollout", "--svg", file("x.svg")}).code, 0);
  EXPECT_NE(draw({"--view", "words", "--layer", "9", "--svg", file("x.svg")}).code, 0);
}

TEST_F(FigureFlags, OneWord) {
  ASSERT_EQ(draw({"--view", "all-heads", "--svg", file("all.svg")}).code, 0);
  ASSERT_EQ(draw({"--view", "all-heads", "--word", "8", "--svg", file("one.svg")}).code, 0);
  EXPECT_LT(read_file(file("one.svg")).size(), read_file(file("all.svg")).size());
  const test::Outcome none = draw({"--view", "all-heads", "--word", "cat", "--svg", file("x.svg")});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("there is no token 'cat' here"), std::string::npos);
}

TEST_F(FigureFlags, SizeThemeAndPalette) {
  ASSERT_EQ(draw({"--view", "words", "--png", file("a.png"), "--width", "500", "--dark"}).code, 0);
  const image::Image dark = image::read_image(file("a.png"));
  EXPECT_EQ(dark.width, 500);
  EXPECT_LT(dark.row(1)[3], 60);
  ASSERT_EQ(draw({"--svg", file("a.svg"), "--palette", "viridis", "--font-size", "26"}).code, 0);
  EXPECT_NE(read_file(file("a.svg")).find("#440154"), std::string::npos);  // viridis at 0
  EXPECT_NE(draw({"--svg", file("b.svg"), "--palette", "rainbow"}).code, 0);
  EXPECT_NE(draw({"--svg", file("b.svg"), "--width", "-3"}).code, 0);
}

}  // namespace
}  // namespace attend::cli
