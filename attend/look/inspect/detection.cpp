#include "attend/look/inspect/detection.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/look/inspect/image_json.h"
#include "attend/view/collector.h"

namespace attend::look {

namespace {

// The first rows and places of what a probe saw of one image.
GridAttention grid_attention(const view::AttentionWeights& seen, std::int64_t rows, std::int64_t places) {
  const Shape& shape = seen.shape;
  check(shape.rank() == 4 && shape[0] == 1 && shape[2] >= rows && shape[3] >= places,
        "look: weights {} are not those of one image with {} x {}", shape, rows, places);
  GridAttention result{.heads = shape[1], .rows = rows, .places = places, .weights = {}};
  result.weights.reserve(static_cast<std::size_t>(shape[1] * rows * places));
  for (std::int64_t h = 0; h < shape[1]; ++h)
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto begin = seen.values.begin() + (h * shape[2] + r) * shape[3];
      result.weights.insert(result.weights.end(), begin, begin + places);
    }
  return result;
}

double four_digits(double value) { return std::round(value * 1e4) / 1e4; }

Json box_json(const train::ImageBox& box) {
  Json json = {{"query", box.query},
               {"text", box.label},
               {"score", four_digits(static_cast<double>(box.score))},
               {"box", Json::array()}};
  for (const double number : box.box) json["box"].push_back(four_digits(number));
  if (!box.looks.empty()) json["heat"] = packed_shares(box.looks);
  return json;
}

Json boxes_json(const std::vector<train::ImageBox>& boxes) {
  Json list = Json::array();
  for (const train::ImageBox& box : boxes) list.push_back(box_json(box));
  return list;
}

}  // namespace

std::vector<float> GridAttention::row(std::int64_t row, std::int64_t head) const {
  check(row >= 0 && row < rows && head < heads, "look: there is no row {} of {} in {} heads", row, rows, heads);
  std::vector<float> result(static_cast<std::size_t>(places));
  const std::int64_t first = head < 0 ? 0 : head, count = head < 0 ? heads : 1;
  for (std::int64_t h = first; h < first + count; ++h)
    for (std::int64_t i = 0; i < places; ++i)
      result[static_cast<std::size_t>(i)] +=
          weights[static_cast<std::size_t>((h * rows + row) * places + i)] / static_cast<float>(count);
  return result;
}

std::string DetectionInspection::text(float threshold) const {
  std::vector<std::pair<std::string, int>> counts;
  for (const train::ImageBox& box : boxes) {
    if (box.score < threshold) continue;
    const auto found = std::ranges::find(counts, box.label, &std::pair<std::string, int>::first);
    if (found == counts.end())
      counts.emplace_back(box.label, 1);
    else
      ++found->second;
  }
  std::string text;
  for (const auto& [label, count] : counts)
    text += (text.empty() ? "" : ", ") + (count == 1 ? label : fmt::format("{} × {}", count, label));
  return text;
}

DetectionInspection inspect_detection(const tasks::Detector& detector, const image::Image& prepared) {
  view::Collector collector;
  const tasks::Detector::Answers answers = detector.answers(prepared, collector);
  const models::DetrConfig& config = detector.model().config();
  const std::int64_t places = answers.grid.h * answers.grid.w;
  DetectionInspection result{.seen = prepared, .grid = answers.grid};
  for (std::int64_t i = 0; i < config.encoder_layers; ++i)
    result.encoder.push_back(grid_attention(collector.at(models::Detr::attention_label(i)), places, places));
  for (std::int64_t i = 0; i < config.decoder_layers; ++i)
    result.decoder.push_back(
        grid_attention(collector.at(models::Detr::cross_attention_label(i)), config.queries, places));
  for (const tasks::Detected& one : tasks::detected(answers.logits, answers.boxes, {}))
    result.boxes.push_back({.label = detector.labels()[static_cast<std::size_t>(one.label)],
                            .score = one.score,
                            .box = {one.box.x, one.box.y, one.box.width, one.box.height},
                            .query = one.query,
                            .looks = result.decoder.back().row(one.query)});
  return result;
}

Json detection_json(const DetectionInspection& inspection, float threshold) {
  Json json = {{"seen", shown_address(inspection.seen)},
               {"text", inspection.text(threshold)},
               {"grid", {inspection.grid.h, inspection.grid.w}},
               {"boxes", boxes_json(inspection.boxes)}};
  if (!inspection.truth.empty()) json["truth"] = boxes_json(inspection.truth);
  return json;
}

Json looks_json(const Extent2& grid, std::span<const GridAttention> layers, std::int64_t row) {
  Json list = Json::array();
  for (const GridAttention& layer : layers) {
    std::vector<float> heads;
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      const std::vector<float> one = layer.row(row, head);
      heads.insert(heads.end(), one.begin(), one.end());
    }
    list.push_back({{"heads", layer.heads}, {"weights", packed_shares(heads)}});
  }
  return {{"grid", {grid.h, grid.w}}, {"layers", std::move(list)}};
}

}  // namespace attend::look
