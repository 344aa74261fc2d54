// PNG (ISO/IEC 15948), eight bits a colour, compressed by zlib; lines have round ends and soft edges.
#ifndef ATTEND_WITHOUT_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "attend/base/error.h"
#include "attend/view/picture.h"
#include "attend/view/stroke_font.h"

namespace attend::view {

namespace {

class Canvas {
 public:
  Canvas(double width, double height, double scale)
      : width_(static_cast<int>(std::lround(width * scale))),
        height_(static_cast<int>(std::lround(height * scale))),
        scale_(scale),
        pixels_(3 * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), 255) {}

  int width() const { return width_; }
  int height() const { return height_; }
  const std::vector<std::uint8_t>& pixels() const { return pixels_; }

  // Edges lie on whole pixels, so that neighbours of one colour have no seam between them.
  void fill(const Picture::Rect& rect) {
    const int x0 = pixel(rect.x), x1 = pixel(rect.x + rect.width), y0 = pixel(rect.y), y1 = pixel(rect.y + rect.height);
    if (!rect.outline) return block(x0, y0, x1, y1, rect.color, rect.opacity);
    const int line = std::max(1, static_cast<int>(std::lround(scale_)) / 2);
    block(x0, y0, x1, y0 + line, rect.color, 1), block(x0, y1, x1 + line, y1 + line, rect.color, 1);
    block(x0, y0, x0 + line, y1, rect.color, 1), block(x1, y0, x1 + line, y1, rect.color, 1);
  }

  void write(const Picture::Text& word) {
    const StrokedText text = stroked(word.text, word.size);
    const double shift = word.anchor == Picture::Anchor::start ? 0
                         : word.anchor == Picture::Anchor::end ? text.width
                                                               : text.width / 2;
    const double turn = word.angle * std::numbers::pi / 180, c = std::cos(turn), s = std::sin(turn);
    const auto place = [&](const Point& point) {
      const double x = point.x - shift;
      return Point{scale_ * (word.x + c * x - s * point.y), scale_ * (word.y + s * x + c * point.y)};
    };
    const double radius = scale_ * word.size * (word.bold ? 0.062 : 0.044);
    for (const Stroke& stroke : text.strokes) {
      if (stroke.size() == 1) line(place(stroke[0]), place(stroke[0]), 1.4 * radius, word.color);
      for (std::size_t i = 1; i < stroke.size(); ++i) line(place(stroke[i - 1]), place(stroke[i]), radius, word.color);
    }
  }

 private:
  int pixel(double at) const { return static_cast<int>(std::lround(at * scale_)); }

  void blend(int x, int y, const Color& color, double share) {
    std::uint8_t* p =
        &pixels_[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x))];
    const std::uint8_t from[] = {color.red, color.green, color.blue};
    for (int i = 0; i < 3; ++i) p[i] = static_cast<std::uint8_t>(std::lround(p[i] + share * (from[i] - p[i])));
  }
  void block(int x0, int y0, int x1, int y1, const Color& color, double opacity) {
    for (int y = std::max(0, y0); y < std::min(height_, y1); ++y)
      for (int x = std::max(0, x0); x < std::min(width_, x1); ++x) blend(x, y, color, opacity);
  }
  // What a round pen of this radius covers of each pixel between two points.
  void line(const Point& a, const Point& b, double radius, const Color& color) {
    const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy, reach = radius + 1;
    const int x0 = static_cast<int>(std::min(a.x, b.x) - reach), x1 = static_cast<int>(std::max(a.x, b.x) + reach);
    const int y0 = static_cast<int>(std::min(a.y, b.y) - reach), y1 = static_cast<int>(std::max(a.y, b.y) + reach);
    for (int y = std::max(0, y0); y <= std::min(height_ - 1, y1); ++y)
      for (int x = std::max(0, x0); x <= std::min(width_ - 1, x1); ++x) {
        const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
        const double t = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
        const double distance = std::hypot(px - t * dx, py - t * dy);
        const double share = std::clamp(radius + 0.5 - distance, 0.0, 1.0);
        if (share > 0) blend(x, y, color, share);
      }
  }

  int width_, height_;
  double scale_;
  std::vector<std::uint8_t> pixels_;
};

#ifndef ATTEND_WITHOUT_ZLIB

void append_number(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_number(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(type) + std::string(data);
  out += body;
  append_number(out, static_cast<std::uint32_t>(
                         crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}

std::string encoded(const Canvas& canvas) {
  const auto row = 3 * static_cast<std::size_t>(canvas.width());
  std::string raw;
  for (int y = 0; y < canvas.height(); ++y) {
    // Each row as its difference from the one above: matrices are the same for many rows.
    raw += '\2';
    const std::uint8_t* here = canvas.pixels().data() + static_cast<std::size_t>(y) * row;
    for (std::size_t i = 0; i < row; ++i) raw += static_cast<char>(y == 0 ? here[i] : here[i] - (here - row)[i]);
  }
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string packed(size, '\0');
  check(compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
                  static_cast<uLong>(raw.size()), 9) == Z_OK,
        "png: the picture could not be compressed");
  packed.resize(size);
  std::string header;
  append_number(header, static_cast<std::uint32_t>(canvas.width()));
  append_number(header, static_cast<std::uint32_t>(canvas.height()));
  header += {8, 2, 0, 0, 0};  // bits, colours without alpha; compression, filters, no interlace
  std::string png = "\x89PNG\r\n\x1A\n";
  append_chunk(png, "IHDR", header), append_chunk(png, "IDAT", packed), append_chunk(png, "IEND", {});
  return png;
}

#else

std::string encoded(const Canvas&) { fail("png: this build of attend has no zlib; write an SVG instead"); }

#endif

}  // namespace

std::string to_png(const Picture& picture, double scale) {
  check(
      picture.width * scale >= 1 && picture.height * scale >= 1 && picture.width * scale * picture.height * scale < 2e8,
      "png: a picture of {:.0f} x {:.0f} is too large", picture.width * scale, picture.height * scale);
  Canvas canvas(picture.width, picture.height, scale);
  for (const Picture::Rect& rect : picture.rects) canvas.fill(rect);
  for (const Picture::Text& text : picture.texts) canvas.write(text);
  return encoded(canvas);
}

}  // namespace attend::view
