#include "attend/view/figure_title.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/view/figure_layout.h"
#include "attend/view/stroke_font.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr Color kLegendInk = {102, 102, 102};
constexpr int kLegendSteps = 32;
constexpr double kUsualSize = 13;

// A title is the first bold text; the lines behind it belong to it. A figure without one gets it above.
void replace_title(Figure& figure, const std::string& title) {
  const auto bold = [](const Figure::Text& text) { return text.bold; };
  const auto first = std::ranges::find_if(figure.texts, bold);
  if (first == figure.texts.end()) {
    Figure above{.width = figure.width};
    above.height = add_title(above, title, {.width = std::max(200.0, figure.width - 36)}) + 8;
    const FigureTheme theme = figure.theme;
    figure = stacked({above, figure});
    figure.theme = theme;
    return;
  }
  const auto last = std::find_if(first, figure.texts.end(), [&](const Figure::Text& text) {
    return !text.bold || text.size != first->size || text.x != first->x;
  });
  first->text = printable(title);
  figure.width = std::max(figure.width, 2 * first->x + room_of(first->text, first->size));
  figure.texts.erase(first + 1, last);
}

}  // namespace

double room_of(std::string_view text, double size) {
  return std::max(stroked(text, size).width, 0.53 * size * static_cast<double>(columns_of(text)));
}

double add_title(Figure& figure, std::string_view title, const TitlePlace& place) {
  double y = place.top;
  std::string line;
  const auto end_line = [&] {
    y += place.size * 1.3;
    figure.texts.push_back({.x = place.x, .y = y - 3, .text = line, .size = place.size, .bold = true});
    figure.width = std::max(figure.width, 2 * place.x + room_of(line, place.size));
    line.clear();
  };
  const std::string words = printable(title);
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    if (!line.empty() && room_of(line + ' ' + word, place.size) > place.width) end_line();
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) end_line();
  return y;
}

double add_legend(Figure& figure, double x, double y) {
  image::Image ramp(kLegendSteps, 1);
  for (int i = 0; i < kLegendSteps; ++i)
    std::fill_n(ramp.row(0) + 3 * i, 3, static_cast<std::uint8_t>(255 * i / (kLegendSteps - 1)));
  figure.texts.push_back({.x = x, .y = y + 10, .text = "0", .size = 11, .color = kLegendInk});
  figure.pixels.push_back({x + 12, y, 96, 11, ramp, true});
  figure.texts.push_back({.x = x + 112, .y = y + 10, .text = "1  attention weight", .size = 11, .color = kLegendInk});
  figure.width = std::max(figure.width, x + 250);
  return y + 14;
}

double scale_of(const Figure& figure, const FigureStyle& style, double otherwise) {
  if (style.width > 0) return style.width / figure.width;
  return style.font_size > 0 ? style.font_size / kUsualSize : otherwise;
}

Figure styled(Figure figure, const FigureStyle& style) {
  check(style.width >= 0 && style.width <= 20000, "--width is 1 to 20000 pixels, not {}", style.width);
  check(style.font_size >= 0 && style.font_size <= 200, "--font-size is 1 to 200 pixels, not {}", style.font_size);
  figure.theme = style.theme;
  if (!style.title.empty()) replace_title(figure, style.title);
  if (style.font_size <= 0 || style.width <= 0) return figure;  // one factor for everything: see scale_of()
  const double times = style.font_size / (kUsualSize * scale_of(figure, style, 1));
  for (Figure::Text& text : figure.texts) {
    text.size *= times;
    if (text.angle == 0 && text.anchor == Figure::Anchor::start)
      figure.width = std::max(figure.width, text.x + room_of(text.text, text.size) + 8);
  }
  return figure;
}

}  // namespace attend::view
