// What a DETR finds and where it looks, as tiles and as one page.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "attend/look/inspect/detection.h"
#include "attend/view/boxes_figure.h"
#include "attend/view/figure_layout.h"
#include "attend/view/image_heat.h"

namespace attend::look {

namespace {

constexpr std::size_t kMostTiles = 15;
constexpr int kLeastTilePixels = 144, kMostTilePixels = 288;
constexpr double kPageTitle = 34;

}  // namespace

DetectionTiles detection_tiles(const DetectionInspection& inspection, float threshold) {
  const image::Image& seen = inspection.seen;
  const int width = std::clamp(seen.width, kLeastTilePixels, kMostTilePixels);
  const int height = std::max(1, width * seen.height / seen.width);
  const auto rows = static_cast<std::size_t>(inspection.grid.h), columns = static_cast<std::size_t>(inspection.grid.w);
  const auto tile = [&](const std::string& title, const std::vector<float>& weights, std::vector<view::Tile>& to) {
    to.push_back({title, view::lit_smoothly(seen, {rows, columns, weights}, width, height)});
  };
  DetectionTiles tiles;
  for (const train::ImageBox& box : inspection.boxes) {
    if (box.score < threshold || tiles.queries.size() == kMostTiles) continue;
    tile(fmt::format("{} {:.2f}", box.label, box.score), box.looks, tiles.queries);
    const auto at = [](double middle, std::int64_t count) {
      return std::clamp(static_cast<std::int64_t>(middle * static_cast<double>(count)), std::int64_t{0}, count - 1);
    };
    const std::int64_t row = at(box.box[1] + box.box[3] / 2, inspection.grid.h),
                       column = at(box.box[0] + box.box[2] / 2, inspection.grid.w);
    tile(fmt::format("{}, {}", row + 1, column + 1), inspection.encoder.back().row(row * inspection.grid.w + column),
         tiles.places);
  }
  return tiles;
}

view::Figure detection_page(const DetectionInspection& inspection, const std::string& name, float threshold) {
  std::vector<view::NamedBox> boxes;
  std::set<std::string> labels;  // one colour each
  for (const train::ImageBox& box : inspection.boxes) labels.insert(box.label);
  const double width = inspection.seen.width, height = inspection.seen.height;
  for (const train::ImageBox& box : inspection.boxes)
    if (box.score >= threshold)
      boxes.push_back({box.box[0] * width, box.box[1] * height, box.box[2] * width, box.box[3] * height,
                       fmt::format("{} {:.2f}", box.label, box.score),
                       static_cast<std::size_t>(std::distance(labels.begin(), labels.find(box.label)))});
  const std::string text = inspection.text(threshold);
  view::Figure page{.width = 360, .height = kPageTitle};
  page.texts.push_back(
      {.x = 16, .y = 22, .text = name + " → " + (text.empty() ? "nothing" : text), .size = 15, .bold = true});
  page = view::stacked({page, view::boxes_figure(inspection.seen, boxes)});
  const DetectionTiles tiles = detection_tiles(inspection, threshold);
  if (tiles.queries.empty()) return page;
  return view::stacked(
      {page, view::tiles_figure(tiles.queries, {.title = "where each query looks: the last layer, all heads"}),
       view::tiles_figure(tiles.places, {.title = "where the encoder looks from the middle of each: the last layer"})});
}

}  // namespace attend::look
