// Images without a browser: what is drawn of attention, as SVG and as pixels read back with libpng.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/image/decode.h"
#include "attend/view/figure.h"
#include "attend/view/figure_title.h"
#include "attend/view/heads_figure.h"
#include "attend/view/stroke_font.h"
#include "attend/view/words_figure.h"

namespace attend::view {
namespace {

TEST(HeadsFigure, DrawsWhatHasWeight) {
  const std::vector<float> weights = {1, 0, 0.5f, 0.5f};
  const HeadsRow row{"a <row>", 1, 2, 2, weights};
  const std::string svg = to_svg(heads_figure(std::span(&row, 1), {.title = "I & you"}));
  EXPECT_NE(svg.find("a &lt;row&gt;"), std::string::npos);
  EXPECT_NE(svg.find("I &amp; you"), std::string::npos);
  std::size_t cells = 0;
  for (std::size_t at = svg.find("fill-opacity"); at != std::string::npos; at = svg.find("fill-opacity", at + 1))
    ++cells;
  EXPECT_EQ(cells, 3u);
  const std::string words = to_svg(heads_figure(std::span(&row, 1), {.words = {"je", "suis"}, .onto = {"I", "am"}}));
  EXPECT_NE(words.find(">suis<"), std::string::npos);
  EXPECT_NE(words.find("rotate(-45"), std::string::npos);
  // Wide letters stay on the page.
  const std::string wide(16, 'm');
  const Figure page =
      heads_figure(std::span(&row, 1), {.title = std::string(80, 'M'), .words = {wide, wide}, .onto = {wide, wide}});
  for (const Figure::Text& text : page.texts) {
    const double width = stroked(text.text, text.size).width;
    const bool ends = text.anchor == Figure::Anchor::end, slants = text.angle != 0;
    EXPECT_GE(ends ? text.x - width : text.x, 0) << text.text;
    EXPECT_LE(ends || slants ? text.x : text.x + width, page.width) << text.text;
    EXPECT_GE(slants ? text.y - 0.71 * width : text.y, 0) << text.text;
  }
  EXPECT_THROW(heads_figure(std::span(&row, 1), {.words = {"je"}, .onto = {"I", "am"}}), Error);
  const HeadsRow bad{"bad", 2, 2, 2, weights};
  EXPECT_THROW(heads_figure(std::span(&bad, 1), {}), Error);
}

TEST(FigureTitle, LongTitlesGetLinesAndStayWhole) {
  Figure figure{.width = 200};
  const std::string title = "one two three four five six seven eight nine ten eleven twelve thirteen";
  const double end = add_title(figure, title, {.x = 10, .width = 180});
  std::string all;
  for (const Figure::Text& line : figure.texts) {
    all += (all.empty() ? "" : " ") + line.text;
    EXPECT_LE(line.x + stroked(line.text, line.size).width, figure.width) << line.text;
    EXPECT_LT(line.y, end);
  }
  EXPECT_EQ(all, title);
  EXPECT_GT(figure.texts.size(), 2u);
  // A word that is wider than a line makes the figure wider.
  add_title(figure, std::string(80, 'M'), {.x = 10, .width = 180});
  EXPECT_GT(figure.width, stroked(std::string(80, 'M'), 16).width);
}

TEST(FigureStyle, SizesAndTitle) {
  Figure figure{.width = 100, .height = 50};
  figure.texts.push_back({.x = 5, .y = 20, .text = "old", .size = 16, .bold = true});
  figure.texts.push_back({.x = 5, .y = 40, .text = "word"});
  EXPECT_EQ(scale_of(figure, {}, 2), 2);
  EXPECT_EQ(scale_of(figure, {.width = 400}, 2), 4);
  EXPECT_EQ(scale_of(figure, {.font_size = 26}, 2), 2);
  const Figure page = styled(figure, {.width = 400, .font_size = 26, .title = "new title"});
  EXPECT_EQ(page.texts[0].text, "new title");
  EXPECT_EQ(page.texts[1].size, 6.5);  // 26 pixels, at four for a unit
  EXPECT_THROW(styled(figure, {.width = -1}), Error);
  EXPECT_NE(to_svg(figure, 3).find("width=\"300\" height=\"150\" viewBox=\"0 0 100 50\""), std::string::npos);
}

TEST(FigureTheme, PalettesGrowDarkerOrLighterAllTheWay) {
  const auto lightness = [](const Color& color) { return 299 * color.red + 587 * color.green + 114 * color.blue; };
  for (const std::string& name : palette_names())
    for (const bool dark : {false, true}) {
      const FigureTheme theme{dark, palette_named(name)};
      const bool grows = lightness(weight_color(theme, 1)) > lightness(weight_color(theme, 0));
      for (int i = 0; i < 20; ++i) {
        const int a = lightness(weight_color(theme, i / 20.0)), b = lightness(weight_color(theme, (i + 1) / 20.0));
        EXPECT_EQ(b > a, grows) << name << (dark ? ", dark " : " ") << i;
      }
    }
  EXPECT_THROW(palette_named("rainbow"), Error);
  EXPECT_GT(themed({.dark = true}, {34, 34, 34}).red, 200);
  EXPECT_EQ(themed({}, {34, 34, 34}).red, 34);
}

TEST(WordsFigure, ACurveForEachWeight) {
  const std::vector<float> weights = {1, 0, 0.01f, 0.5f};
  const Figure page = words_figure({.title = "t",
                                    .words = {" je", " suis"},
                                    .onto = {"I", " am"},
                                    .words_name = "translation",
                                    .onto_name = "source",
                                    .weights = weights});
  EXPECT_EQ(page.curves.size(), 2u + 3u);  // and three in the legend
  EXPECT_NE(to_svg(page).find(">suis<"), std::string::npos);
  EXPECT_THROW(words_figure({.words = {"a"}, .onto = {"b", "c"}, .weights = weights}), Error);
}

TEST(WordsFigure, AllHeadsInColours) {
  const std::vector<float> weights = {1, 0, 0, 1, 0, 1, 0.5f, 0.5f};  // two heads
  const WordsFigure all{.words = {"a", "b"}, .onto = {"c", "d"}, .weights = weights, .heads = 2};
  const Figure page = words_figure(all);
  EXPECT_EQ(page.curves.size(), 5u + 3u);
  const std::string svg = to_svg(page);
  for (int head = 0; head < 2; ++head) {
    const Color color = series_color({}, head, 2);
    EXPECT_NE(svg.find(fmt::format("stroke=\"#{:02x}{:02x}{:02x}\"", color.red, color.green, color.blue)),
              std::string::npos);
  }
  WordsFigure one = all;
  one.word = 1;  // the second word: one key of the first head, two of the other
  EXPECT_EQ(words_figure(one).curves.size(), 3u + 3u);
  one.word = 2;
  EXPECT_THROW(words_figure(one), Error);
  // In every palette all heads differ from each other and from the background.
  for (const std::string& name : palette_names())
    for (const bool dark : {false, true}) {
      const FigureTheme theme{.dark = dark, .palette = palette_named(name)};
      std::set<std::array<int, 3>> colors = {{background(theme).red, background(theme).green, background(theme).blue}};
      for (int head = 0; head < 12; ++head) {
        const Color color = series_color(theme, head, 12);
        colors.insert({color.red, color.green, color.blue});
      }
      EXPECT_EQ(colors.size(), 13u) << name;
    }
}

TEST(StrokeFont, KnowsItsLetters) {
  // Every letter has a shape of its own and a width.
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::vector<std::vector<Stroke>> shapes;
  for (const char letter : letters) {
    const StrokedText text = stroked(std::string(1, letter), 10);
    EXPECT_FALSE(text.strokes.empty()) << letter;
    for (const auto& other : shapes) {
      bool same = other.size() == text.strokes.size();
      for (std::size_t i = 0; same && i < other.size(); ++i) {
        same = other[i].size() == text.strokes[i].size();
        for (std::size_t k = 0; same && k < other[i].size(); ++k)
          same = other[i][k].x == text.strokes[i][k].x && other[i][k].y == text.strokes[i][k].y;
      }
      EXPECT_FALSE(same && letter != 'I' && letter != 'l') << letter;  // one stroke is all these two have
    }
    shapes.push_back(text.strokes);
  }
  EXPECT_GT(stroked("é", 10).strokes.size(), stroked("e", 10).strokes.size());
  EXPECT_EQ(stroked("é", 10).width, stroked("e", 10).width);
  EXPECT_GT(stroked("I am", 10).width, stroked("Iam", 10).width);
  EXPECT_FALSE(stroked("漢\xff", 10).strokes.empty());  // boxes
}

#if !defined(ATTEND_WITHOUT_PNG) && !defined(ATTEND_WITHOUT_ZLIB)

image::Image read_png(const std::string& png) { return image::decode(std::as_bytes(std::span(png)), "png"); }

int channel_at(const image::Image& image, int x, int y, int channel) { return image.row(y)[3 * x + channel]; }

TEST(Png, HasTheImagesPixels) {
  Figure figure{.width = 20, .height = 10};
  figure.rects.push_back({.x = 2, .y = 3, .width = 4, .height = 2, .color = {255, 0, 0}});
  figure.rects.push_back({.x = 10, .y = 3, .width = 4, .height = 2, .color = {0, 0, 0}, .opacity = 0.5});
  const image::Image pixels = read_png(to_png(figure, 2));
  ASSERT_EQ(pixels.width, 40);
  ASSERT_EQ(pixels.height, 20);
  EXPECT_EQ(channel_at(pixels, 4, 6, 0), 255);
  EXPECT_EQ(channel_at(pixels, 4, 6, 1), 0);
  EXPECT_EQ(channel_at(pixels, 11, 9, 1), 0);
  EXPECT_EQ(channel_at(pixels, 12, 9, 1), 255);
  EXPECT_NEAR(channel_at(pixels, 22, 7, 2), 128, 1);
  EXPECT_EQ(channel_at(pixels, 3, 6, 1), 255);
}

TEST(Png, WritesWordsWhereTheyBelong) {
  Figure figure{.width = 60, .height = 20};
  figure.texts.push_back({.x = 50, .y = 15, .text = "HI", .size = 12, .anchor = Figure::Anchor::end});
  const image::Image pixels = read_png(to_png(figure, 4));
  int left = pixels.width, right = 0, top = pixels.height, bottom = 0;
  for (int y = 0; y < pixels.height; ++y)
    for (int x = 0; x < pixels.width; ++x)
      if (channel_at(pixels, x, y, 0) < 128)
        left = std::min(left, x), right = std::max(right, x), top = std::min(top, y), bottom = std::max(bottom, y);
  EXPECT_NEAR(right / 4.0, 50, 1);
  EXPECT_GT(left / 4.0, 35);
  EXPECT_NEAR(bottom / 4.0, 15, 1);
  EXPECT_NEAR(top / 4.0, 15 - 8.5, 1);  // capitals are 0.7 of the size high
  EXPECT_THROW(to_png({.width = 1e6, .height = 1e6}), Error);
}

#endif

}  // namespace
}  // namespace attend::view
