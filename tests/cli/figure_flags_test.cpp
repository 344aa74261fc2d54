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
  for (const char* view : {"map", "heads", "words", "all-heads", "steps", "generate", "positions"}) {
    const std::string path = file(std::string(view) + ".svg");
    EXPECT_EQ(draw({"--view", view, "--svg", path, "--title", "A whole title"}).code, 0) << view;
    EXPECT_NE(read_file(path).find("A whole title"), std::string::npos) << view;
  }
  EXPECT_EQ(draw({"--view", "rollout", "--svg", file("x.svg")}).code, 1);  // of images
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

TEST_F(FigureFlags, TheAnswerWithoutAPart) {
  const std::string path = file("ablate.svg");
  for (const char* part : {"head", "layer", "positions"}) {
    ASSERT_EQ(draw({"--view", "ablate", "--without", part, "--svg", path}).code, 0) << part;
    EXPECT_NE(read_file(path).find("As it is: 1956-12-08"), std::string::npos) << part;
    EXPECT_NE(read_file(path).find("Without "), std::string::npos) << part;
  }
  ASSERT_EQ(draw({"--view", "ablate", "--without", "word", "--word", "8", "--svg", path}).code, 0);
  EXPECT_NE(read_file(path).find("Without “8”"), std::string::npos);
  EXPECT_EQ(draw({"--view", "ablate", "--without", "word", "--svg", path}).code, 1);
  EXPECT_EQ(draw({"--view", "ablate", "--without", "attention", "--svg", path}).code, 1);
}

TEST_F(FigureFlags, ThreeNetworks) {
  const std::string path = file("compare.svg");
  ASSERT_EQ(test::run_attend({"look", "--view", "compare", "--text", "rose lamp sea", "--svg", path}).code, 0);
  for (const char* title : {"RNN without attention: sea lamp rose", "RNN with attention: sea", "Transformer: sea"})
    EXPECT_NE(read_file(path).find(title), std::string::npos) << title;
}

TEST_F(FigureFlags, ViewsOfAnImage) {
  const auto look = [&](const char* view, const std::string& path) {
    return test::run_attend({"look", "--model", "models/vit-fashion-mnist", "--image",
                             "models/vit-fashion-mnist/samples/ankle-boot.png", "--view", view, "--svg", path});
  };
  ASSERT_EQ(look("rollout", file("r.svg")).code, 0);
  EXPECT_NE(read_file(file("r.svg")).find("attention rollout"), std::string::npos);
  ASSERT_EQ(look("steps", file("s.svg")).code, 0);
  EXPECT_NE(read_file(file("s.svg")).find("softmax"), std::string::npos);
  EXPECT_EQ(look("words", file("x.svg")).code, 1);
}

TEST_F(FigureFlags, AGridOfImagesHasThemToo) {
  const std::string path = file("grid.png");
  ASSERT_EQ(test::run_attend({"draw", "--model", "models/sagan-cifar10", "--class", "horse", "--count", "2", "--png",
                              path, "--title", "Two horses", "--dark", "--width", "300"})
                .code,
            0);
  const image::Image grid = image::read_image(path);
  EXPECT_EQ(grid.width, 300);
  EXPECT_LT(grid.row(1)[3], 60);
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
