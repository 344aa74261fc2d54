#include "attend/view/figure_layout.h"

#include <algorithm>

namespace attend::view {

namespace {

void add_moved(Figure& all, Figure figure, double right, double down) {
  for (auto& one : figure.pixels) one.x += right, one.y += down, all.pixels.push_back(std::move(one));
  for (auto& one : figure.rects) one.x += right, one.y += down, all.rects.push_back(one);
  for (auto& one : figure.texts) one.x += right, one.y += down, all.texts.push_back(std::move(one));
  for (auto& one : figure.curves) {
    for (auto& point : one.points) point.first += right, point.second += down;
    all.curves.push_back(std::move(one));
  }
}

}  // namespace

Figure stacked(const std::vector<Figure>& figures) {
  Figure all;
  for (const Figure& figure : figures) {
    add_moved(all, figure, 0, all.height);
    all.width = std::max(all.width, figure.width), all.height += figure.height;
  }
  return all;
}

Figure beside(const std::vector<Figure>& figures) {
  Figure all;
  for (const Figure& figure : figures) {
    add_moved(all, figure, all.width, 0);
    all.width += figure.width, all.height = std::max(all.height, figure.height);
  }
  return all;
}

}  // namespace attend::view
