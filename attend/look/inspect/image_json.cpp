#include "attend/look/inspect/image_json.h"

#include <algorithm>
#include <cmath>

#include "attend/base/base64.h"
#include "attend/image/encode.h"

namespace attend::look {

std::string packed_shares(std::span<const float> values) {
  std::string bytes;
  bytes.reserve(2 * values.size());
  for (const float value : values) {
    const long units = std::lround(65535 * std::clamp(value, 0.0f, 1.0f));
    bytes += static_cast<char>(units & 255), bytes += static_cast<char>(units >> 8);
  }
  return base64(bytes);
}

std::string image_address(const image::Image& image) {
  return "data:image/png;base64," + base64(image::encode_png(image));
}

std::string shown_address(const image::Image& image) {
  constexpr std::size_t kMostPlainBytes = std::size_t{3} * 96 * 96;
  if (image.pixels.size() <= kMostPlainBytes || !image::kWritesJpeg) return image_address(image);
  return "data:image/jpeg;base64," + base64(image::encode_jpeg(image, {.quality = 85}));
}

Json place_json(const models::AttentionPlace& place, std::int64_t layer) {
  return {{"stack", "encoder"},
          {"kind", "self"},
          {"layer", layer},
          {"heads", place.heads},
          {"tokens", place.tokens},
          {"queries", {place.queries.h, place.queries.w}},
          {"keys", {place.keys.h, place.keys.w}},
          {"window", place.window},
          {"shift", place.shift}};
}

Json image_json(const ImageInspection& inspection) {
  Json labels = Json::array(), attention = Json::array();
  for (const Candidate& label : inspection.labels)
    labels.push_back({{"id", label.id},
                      {"text", label.text},
                      {"probability", std::round(static_cast<double>(label.probability) * 1e4) / 1e4}});
  for (std::size_t i = 0; i < inspection.attention.size(); ++i) {
    const ImageAttention& layer = inspection.attention[i];
    std::vector<float> heats;
    for (std::int64_t head = 0; head < layer.place.heads; ++head) {
      const std::vector<float> heat = layer.heat(head);
      heats.insert(heats.end(), heat.begin(), heat.end());
    }
    Json json = place_json(layer.place, static_cast<std::int64_t>(i));
    json["heat"] = packed_shares(heats);
    attention.push_back(std::move(json));
  }
  const Rollout& rollout = inspection.rollout;
  Json rolled = {{"missing", rollout.missing}};
  if (rollout.missing.empty())
    rolled = {{"grid", {rollout.grid.h, rollout.grid.w}}, {"weights", packed_shares(rollout.weights)}};
  return {{"seen", image_address(inspection.seen)},
          {"labels", std::move(labels)},
          {"text", inspection.text},
          {"attention", std::move(attention)},
          {"rollout", std::move(rolled)}};
}

Json attention_json(const ImageAttention& attention, std::int64_t layer) {
  Json json = place_json(attention.place, layer);
  json.update({{"rows", attention.rows},
               {"columns", attention.columns},
               {"windows", attention.windows},
               {"weights", packed_shares(attention.weights)}});
  return json;
}

}  // namespace attend::look
