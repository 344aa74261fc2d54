#include <fmt/core.h>

#include <iterator>

#include "attend/base/base64.h"
#include "attend/image/encode.h"
#include "attend/view/attention_svg.h"
#include "attend/view/figure.h"
#include "attend/view/figure_theme.h"

namespace attend::view {

namespace {

std::string hex(const Color& color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

}  // namespace

std::string to_svg(const Figure& figure, double scale) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{2:.0f}\" height=\"{3:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"{4}\"/>\n",
      figure.width, figure.height, scale * figure.width, scale * figure.height, hex(background(figure.theme)));
  const auto out = std::back_inserter(text);
  for (const Figure::Pixels& one : figure.pixels)
    fmt::format_to(out,
                   "<image x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" preserveAspectRatio=\"none\" "
                   "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
                   one.x, one.y, one.width, one.height, base64(image::encode_png(coloured(figure.theme, one))));
  for (const Figure::Rect& rect : figure.rects) {
    fmt::format_to(out, "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" ", rect.x, rect.y,
                   rect.width, rect.height);
    if (rect.outline)
      fmt::format_to(out, "fill=\"none\" stroke=\"{}\"/>\n", hex(themed(figure.theme, rect.color)));
    else if (rect.weight >= 0)  // 0 is the ground of a matrix
      fmt::format_to(out, "fill=\"{}\"{}/>\n", hex(weight_color(figure.theme, rect.weight)),
                     rect.weight > 0 ? " fill-opacity=\"1\"" : "");
    else
      fmt::format_to(out, "fill=\"{}\" fill-opacity=\"{:.2f}\"/>\n", hex(color_of(figure.theme, rect)), rect.opacity);
  }
  for (const Figure::Curve& curve : figure.curves) {
    text += "<polyline points=\"";
    for (const auto& [x, y] : curve.points) fmt::format_to(out, "{:.1f},{:.1f} ", x, y);
    fmt::format_to(out,
                   "\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2f}\" stroke-opacity=\"{:.2f}\" "
                   "stroke-linecap=\"round\"/>\n",
                   hex(color_of(figure.theme, curve)), curve.width, curve.opacity);
  }
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  for (const Figure::Text& word : figure.texts) {
    fmt::format_to(out, "<text x=\"{0:.1f}\" y=\"{1:.1f}\" font-size=\"{2}\" fill=\"{3}\" text-anchor=\"{4}\"", word.x,
                   word.y, word.size, hex(themed(figure.theme, word.color)), kAnchors[static_cast<int>(word.anchor)]);
    if (word.bold) text += " font-weight=\"bold\"";
    if (word.angle != 0) fmt::format_to(out, " transform=\"rotate({:.0f} {:.1f} {:.1f})\"", word.angle, word.x, word.y);
    fmt::format_to(out, ">{}</text>\n", xml_escaped(word.text));
  }
  return text + "</svg>\n";
}

}  // namespace attend::view
