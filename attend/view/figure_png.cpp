// A figure drawn into pixels; lines have round ends and soft edges.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "attend/base/error.h"
#include "attend/image/encode.h"
#include "attend/view/figure.h"
#include "attend/view/figure_theme.h"
#include "attend/view/stroke_font.h"

namespace attend::view {

namespace {

class Canvas {
 public:
  Canvas(double width, double height, double scale, const FigureTheme& theme)
      : width_(static_cast<int>(std::lround(width * scale))),
        height_(static_cast<int>(std::lround(height * scale))),
        scale_(scale),
        theme_(theme),
        image_(width_, height_) {
    const Color behind = background(theme);
    for (std::size_t i = 0; i < image_.pixels.size(); i += 3)
      image_.pixels[i] = behind.red, image_.pixels[i + 1] = behind.green, image_.pixels[i + 2] = behind.blue;
  }

  const image::Image& image() const { return image_; }

  void copy(const Figure::Pixels& one) {
    const image::Image from = coloured(theme_, one);
    const int x0 = pixel(one.x), x1 = pixel(one.x + one.width), y0 = pixel(one.y), y1 = pixel(one.y + one.height);
    for (int y = std::max(0, y0); y < std::min(height_, y1); ++y)
      for (int x = std::max(0, x0); x < std::min(width_, x1); ++x)
        std::copy_n(from.row((y - y0) * from.height / (y1 - y0)) +
                        static_cast<std::ptrdiff_t>(3) * ((x - x0) * from.width / (x1 - x0)),
                    3, image_.row(y) + 3 * x);
  }

  // Edges lie on whole pixels, so that neighbours of one colour have no seam between them.
  void fill(const Figure::Rect& rect) {
    const int x0 = pixel(rect.x), x1 = pixel(rect.x + rect.width), y0 = pixel(rect.y), y1 = pixel(rect.y + rect.height);
    if (rect.weight >= 0) return block(x0, y0, x1, y1, weight_color(theme_, rect.weight), 1);
    if (!rect.outline) return block(x0, y0, x1, y1, color_of(theme_, rect), rect.opacity);
    const int line = std::max(1, static_cast<int>(std::lround(scale_)) / 2);
    const Color color = themed(theme_, rect.color);
    block(x0, y0, x1, y0 + line, color, 1), block(x0, y1, x1 + line, y1 + line, color, 1);
    block(x0, y0, x0 + line, y1, color, 1), block(x1, y0, x1 + line, y1, color, 1);
  }

  // All pieces cover a pixel as much as the one that covers it most, so that a faint curve has no dots at its joints.
  void follow(const Figure::Curve& curve) {
    std::vector<float> cover(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_));
    const auto at = [&](const std::pair<double, double>& point) {
      return Point{scale_ * point.first, scale_ * point.second};
    };
    for (std::size_t i = 1; i < curve.points.size(); ++i)
      pen(at(curve.points[i - 1]), at(curve.points[i]), scale_ * curve.width / 2, [&](int x, int y, double share) {
        float& old =
            cover[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
        old = std::max(old, static_cast<float>(share));
      });
    const Color color = color_of(theme_, curve);
    for (std::size_t i = 0; i < cover.size(); ++i)
      if (cover[i] > 0)
        blend(static_cast<int>(i % static_cast<std::size_t>(width_)),
              static_cast<int>(i / static_cast<std::size_t>(width_)), color,
              curve.opacity * static_cast<double>(cover[i]));
  }

  void write(const Figure::Text& word) {
    const StrokedText text = stroked(word.text, word.size);
    const double shift = word.anchor == Figure::Anchor::start ? 0
                         : word.anchor == Figure::Anchor::end ? text.width
                                                              : text.width / 2;
    const double turn = word.angle * std::numbers::pi / 180, c = std::cos(turn), s = std::sin(turn);
    const auto place = [&](const Point& point) {
      const double x = point.x - shift;
      return Point{scale_ * (word.x + c * x - s * point.y), scale_ * (word.y + s * x + c * point.y)};
    };
    const double radius = scale_ * word.size * (word.bold ? 0.062 : 0.044);
    const Color color = themed(theme_, word.color);
    for (const Stroke& stroke : text.strokes) {
      if (stroke.size() == 1) line(place(stroke[0]), place(stroke[0]), 1.4 * radius, color);
      for (std::size_t i = 1; i < stroke.size(); ++i) line(place(stroke[i - 1]), place(stroke[i]), radius, color);
    }
  }

 private:
  int pixel(double at) const { return static_cast<int>(std::lround(at * scale_)); }

  void blend(int x, int y, const Color& color, double share) {
    std::uint8_t* p = image_.row(y) + 3 * x;
    const std::uint8_t from[] = {color.red, color.green, color.blue};
    for (int i = 0; i < 3; ++i) p[i] = static_cast<std::uint8_t>(std::lround(p[i] + share * (from[i] - p[i])));
  }
  void block(int x0, int y0, int x1, int y1, const Color& color, double opacity) {
    for (int y = std::max(0, y0); y < std::min(height_, y1); ++y)
      for (int x = std::max(0, x0); x < std::min(width_, x1); ++x) blend(x, y, color, opacity);
  }
  void line(const Point& a, const Point& b, double radius, const Color& color) {
    pen(a, b, radius, [&](int x, int y, double share) { blend(x, y, color, share); });
  }
  // What a round pen of this radius covers of each pixel between two points.
  template <typename Paint>
  void pen(const Point& a, const Point& b, double radius, const Paint& paint) const {
    const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy, reach = radius + 1;
    const int x0 = static_cast<int>(std::min(a.x, b.x) - reach), x1 = static_cast<int>(std::max(a.x, b.x) + reach);
    const int y0 = static_cast<int>(std::min(a.y, b.y) - reach), y1 = static_cast<int>(std::max(a.y, b.y) + reach);
    for (int y = std::max(0, y0); y <= std::min(height_ - 1, y1); ++y)
      for (int x = std::max(0, x0); x <= std::min(width_ - 1, x1); ++x) {
        const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
        const double t = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
        const double distance = std::hypot(px - t * dx, py - t * dy);
        const double share = std::clamp(radius + 0.5 - distance, 0.0, 1.0);
        if (share > 0) paint(x, y, share);
      }
  }

  int width_, height_;
  double scale_;
  FigureTheme theme_;
  image::Image image_;
};

}  // namespace

std::string to_png(const Figure& figure, double scale) {
  check(figure.width * scale >= 1 && figure.height * scale >= 1 && figure.width * scale * figure.height * scale < 2e8,
        "png: a figure of {:.0f} x {:.0f} is too large", figure.width * scale, figure.height * scale);
  Canvas canvas(figure.width, figure.height, scale, figure.theme);
  for (const Figure::Pixels& one : figure.pixels) canvas.copy(one);
  for (const Figure::Rect& rect : figure.rects) canvas.fill(rect);
  for (const Figure::Curve& curve : figure.curves) canvas.follow(curve);
  for (const Figure::Text& text : figure.texts) canvas.write(text);
  return image::encode_png(canvas.image());
}

}  // namespace attend::view
