// A DETR looked at: what every query answers, where it looks in the image (the decoder's cross-attention; figure 6 of
// Carion et al. 2020), and where the places of the image look before that (the encoder's self-attention; figure 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/image/image.h"
#include "attend/tasks/detector.h"
#include "attend/train/loop/example.h"
#include "attend/view/figure.h"
#include "attend/view/tiles_figure.h"

namespace attend::look {

// Weights of one layer: who looks, and at which places of the grid; what pads the image is left out.
struct GridAttention {
  std::int64_t heads = 0, rows = 0, places = 0;
  std::vector<float> weights = {};  // [heads, rows, places]

  // Of one row; head -1: all averaged.
  std::vector<float> row(std::int64_t row, std::int64_t head = -1) const;
};

struct DetectionInspection {
  image::Image seen = {};
  Extent2 grid = {};
  std::vector<train::ImageBox> boxes = {};  // of all queries, best first; looks: the last layer's, heads averaged
  std::vector<train::ImageBox> truth = {};  // of a run alone
  std::vector<GridAttention> encoder = {}, decoder = {};  // by layer; rows: places, queries

  // "a disc and 2 squares": those of at least this score; empty when there are none.
  std::string text(float threshold) const;
};

DetectionInspection inspect_detection(const tasks::Detector& detector, const image::Image& prepared);

// {"seen", "text", "grid": [h, w], "boxes": [{"query", "text", "score", "box": [x, y, w, h], "heat"}], "truth"}
Json detection_json(const DetectionInspection& inspection, float threshold);
// {"grid", "layers": [{"heads", "weights": packed [heads, places]}]}: one query, or one place, through all layers.
Json looks_json(const Extent2& grid, std::span<const GridAttention> layers, std::int64_t row);

// Without a browser: where each thing's query looks, and the encoder from its middle.
struct DetectionTiles {
  std::vector<view::Tile> queries, places;
};
DetectionTiles detection_tiles(const DetectionInspection& inspection, float threshold);
// The image with its boxes over those.
view::Figure detection_page(const DetectionInspection& inspection, const std::string& name, float threshold);

}  // namespace attend::look
