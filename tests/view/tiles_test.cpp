// Small images side by side: where they lie on a page and in a terminal, and heat that runs smoothly over them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attend/base/error.h"
#include "attend/view/boxes_figure.h"
#include "attend/view/caption_figure.h"
#include "attend/view/figure_layout.h"
#include "attend/view/image_heat.h"
#include "attend/view/terminal_image.h"
#include "attend/view/tiles_figure.h"

namespace attend::view {
namespace {

image::Image grey(int width, int height, std::uint8_t shade = 200) {
  image::Image image(width, height);
  std::ranges::fill(image.pixels, shade);
  return image;
}

// Of boxes that nearly coincide each name can be read.
TEST(Boxes, NamesDoNotCoverEachOther) {
  std::vector<NamedBox> boxes;
  for (int i = 0; i < 6; ++i) boxes.push_back({20.0 + i, 20.0 + i, 30, 30, "a square", 0});
  const Figure page = boxes_figure(grey(64, 64), boxes);
  ASSERT_EQ(page.texts.size(), boxes.size());
  for (std::size_t i = 0; i < page.texts.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_GE(std::abs(page.texts[i].y - page.texts[j].y), page.texts[i].size) << i << ", " << j;
}

// A column of pixels is no page of kilometres, on paper or in a terminal.
TEST(Boxes, LongImagesAreBounded) {
  for (const auto& [width, height] : {std::pair(1, 20000), std::pair(20000, 1)}) {
    const image::Image image = grey(width, height);
    const Figure page = boxes_figure(image, {{0, 0, 1, 1, "x", 0}});
    EXPECT_LE(page.width * page.height, 4e6);
    const image::Image outlined = with_outlines(image, {{0, 0, 1, 1, "x", 0}}, 40);
    EXPECT_LE(outlined.height, 160);
    const std::string text = draw(image, {}, {.width = 80});
    EXPECT_LE(std::ranges::count(text, '\n'), 80);
    EXPECT_LE(std::ranges::count(draw(std::vector<Tile>{{"x", image}}, {.width = 80}), '\n'), 80);
  }
}

TEST(Tiles, LieInRowsUnderTheirTitles) {
  const std::vector<Tile> tiles = {{"one", grey(20, 10)}, {"two", grey(20, 10)}, {"three", grey(20, 10)}};
  const Figure page = tiles_figure(tiles, {.title = "all", .across = 2, .width = 100});
  ASSERT_EQ(page.pixels.size(), 3u);
  EXPECT_EQ(page.pixels[0].y, page.pixels[1].y);
  EXPECT_EQ(page.pixels[0].x, page.pixels[2].x);
  EXPECT_GE(page.pixels[1].x, page.pixels[0].x + 100);
  EXPECT_GE(page.pixels[2].y, page.pixels[0].y + 50);
  EXPECT_DOUBLE_EQ(page.pixels[0].height, 50);  // as the images are
  EXPECT_LE(page.pixels[1].x + 100, page.width);
  EXPECT_LE(page.pixels[2].y + 50, page.height);
  EXPECT_EQ(page.texts.size(), 4u);
  const Figure both = stacked({page, page});
  EXPECT_DOUBLE_EQ(both.height, 2 * page.height);
  EXPECT_DOUBLE_EQ(both.pixels[3].y, page.pixels[0].y + page.height);
  EXPECT_THROW(tiles_figure({}, {}), Error);
}

TEST(Tiles, AreAsManySideBySideAsFit) {
  const std::vector<Tile> tiles = {{"one", grey(24, 24, 255)}, {"two", grey(24, 24, 0)}};
  const std::string wide = draw(tiles, {.width = 60}), narrow = draw(tiles, {.width = 30});
  EXPECT_EQ(std::ranges::count(wide, '\n'), 13);    // a line of titles, twelve of characters
  EXPECT_EQ(std::ranges::count(narrow, '\n'), 26);  // one below the other
  EXPECT_NE(wide.find("@@@@"), std::string::npos);
  EXPECT_LT(wide.find("one"), wide.find("two"));
  EXPECT_EQ(draw(std::vector<Tile>{}, {.width = 60}), "");
}

TEST(Tiles, HeatIsStrongestInTheMiddleOfItsPlace) {
  const std::vector<float> weights = {0, 0, 0, 1};
  const image::Image seen = lit_smoothly(grey(8, 8), {2, 2, weights}, 40, 40);
  const auto at = [&](int x, int y, int channel = 2) { return seen.row(y)[3 * x + channel]; };
  // Yellow at 75 % beyond the middle of the last place: (255, 226, 92) over (200, 200, 200).
  EXPECT_EQ(at(35, 35, 0), 241);
  EXPECT_EQ(at(35, 35, 2), 119);
  for (int channel = 0; channel < 3; ++channel) EXPECT_EQ(at(5, 5, channel), 200);  // the image itself at weight 0
  EXPECT_LT(at(25, 25), at(20, 20));                                                // blue fades as the weight grows
  EXPECT_LT(at(20, 20), at(12, 12));
  EXPECT_THROW(lit_smoothly(grey(8, 8), {3, 2, weights}, 40, 40), Error);
}

TEST(Tiles, PiecesOfAWordLookTogether) {
  const CaptionAttention words = joined_words({.image = grey(8, 8),
                                               .caption = "a foot ball",
                                               .words = {" a", " foot", "ball", " </s>"},
                                               .rows = 1,
                                               .columns = 2,
                                               .weights = {1, 0, 0.5f, 0.5f, 0, 1, 1, 0}});
  EXPECT_EQ(words.words, (std::vector<std::string>{"a", "football", "</s>"}));
  EXPECT_EQ(words.weights.size(), 6u);
  EXPECT_EQ(tiles_of(words).size(), 4u);
  EXPECT_EQ(caption_figure(words).pixels.size(), 4u);
}

}  // namespace
}  // namespace attend::view
