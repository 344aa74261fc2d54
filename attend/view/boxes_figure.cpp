#include "attend/view/boxes_figure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "attend/image/resize.h"
#include "attend/view/text_width.h"

namespace attend::view {

namespace {

constexpr double kLeastBoxPage = 360, kMostBoxPage = 1000, kHighestBoxPage = 4000, kBoxLine = 2, kBoxWord = 12;
constexpr std::size_t kLongestBoxName = 32;
constexpr int kTallestOutlines = 4;  // times their width; a taller image is squeezed
constexpr std::array<Color, 8> kBoxColors = {{{214, 39, 40},
                                              {31, 119, 180},
                                              {44, 140, 44},
                                              {148, 73, 189},
                                              {200, 110, 0},
                                              {0, 140, 150},
                                              {190, 60, 140},
                                              {110, 90, 70}}};

struct Edges {
  double left, top, right, bottom;
};

// What of a box lies in the image, `scale` times as large.
Edges inside(const NamedBox& box, const image::Image& image, double scale) {
  const auto place = [&](double at, double most) { return scale * std::clamp(at, 0.0, most); };
  return {place(box.x, image.width), place(box.y, image.height), place(box.x + box.width, image.width),
          place(box.y + box.height, image.height)};
}

// Where the name of a box goes: above it, else in it from the top down, else below it, else from the top of the page
// down; the first line in which it covers no name that is there already.
double free_line(const std::vector<Edges>& names, const Edges& box, double height, double page) {
  const auto free = [&](double y) {
    if (y < 0 || y + height > page) return false;
    return std::ranges::none_of(names, [&](const Edges& other) {
      return box.left < other.right && other.left < box.right && y < other.bottom && other.top < y + height;
    });
  };
  if (free(box.top - height)) return box.top - height;
  for (double y = box.top; y + height <= box.bottom; y += height)
    if (free(y)) return y;
  if (free(box.bottom)) return box.bottom;
  for (double y = 0; y + height <= page; y += height)
    if (free(y)) return y;
  return std::clamp(box.top - height, 0.0, std::max(0.0, page - height));
}

}  // namespace

Figure boxes_figure(const image::Image& image, const std::vector<NamedBox>& boxes) {
  Figure page;
  // By the width, as long as a column of pixels does not become a page of kilometres.
  const double scale = std::min(std::clamp<double>(image.width, kLeastBoxPage, kMostBoxPage) / image.width,
                                std::max(1.0, kHighestBoxPage / image.height));
  page.width = std::max(1.0, scale * image.width);
  page.height = std::max(1.0, scale * image.height);
  page.pixels.push_back({0, 0, page.width, page.height, image});
  std::vector<Edges> names;
  for (const NamedBox& box : boxes) {
    const Color color = kBoxColors[box.kind % kBoxColors.size()];
    const auto [left, top, right, bottom] = inside(box, image, scale);
    const auto bar = [&](double x, double y, double width, double height) {
      page.rects.push_back({.x = x, .y = y, .width = width, .height = height, .color = color});
    };
    bar(left, top, right - left, kBoxLine), bar(left, bottom - kBoxLine, right - left, kBoxLine);
    bar(left, top, kBoxLine, bottom - top), bar(right - kBoxLine, top, kBoxLine, bottom - top);
    const std::string name = shortened(printable(box.name), kLongestBoxName);
    if (name.empty()) continue;
    const double width = 0.62 * kBoxWord * static_cast<double>(columns_of(name)) + 6, height = kBoxWord + 4;
    const double x = std::clamp(left, 0.0, std::max(0.0, page.width - width));
    const double y = free_line(names, {x, top, x + width, bottom}, height, page.height);
    names.push_back({x, y, x + width, y + height});
    bar(x, y, width, height);
    page.texts.push_back(
        {.x = x + 3, .y = y + kBoxWord, .text = name, .size = kBoxWord, .color = {255, 255, 255}, .bold = true});
  }
  return page;
}

image::Image with_outlines(const image::Image& image, const std::vector<NamedBox>& boxes, int width) {
  const double scale = static_cast<double>(width) / image.width;
  const int height = std::clamp(static_cast<int>(std::lround(scale * image.height)), 1, kTallestOutlines * width);
  const double squeeze = height / std::max(1.0, scale * image.height);
  image::Image result = image::resize(image, width, height, {.filter = image::Filter::bilinear});
  for (const NamedBox& box : boxes) {
    const Color color = kBoxColors[box.kind % kBoxColors.size()];
    const Edges edges = inside(box, image, scale);
    const auto pixel = [](double at, int count) { return std::clamp(static_cast<int>(at), 0, count - 1); };
    const int left = pixel(edges.left, width), right = pixel(edges.right, width);
    const int top = pixel(squeeze * edges.top, height), bottom = pixel(squeeze * edges.bottom, height);
    for (int y = top; y <= bottom; ++y)
      for (int x = left; x <= right; ++x)
        if (y == top || y == bottom || x == left || x == right)
          std::ranges::copy(std::array{color.red, color.green, color.blue}, result.row(y) + 3 * x);
  }
  return result;
}

}  // namespace attend::view
