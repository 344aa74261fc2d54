#include "attend/look/api/detection_api.h"

#include <fmt/core.h>

#include <utility>

#include "attend/base/error.h"
#include "attend/http/json_request.h"

namespace attend::look {

namespace {

constexpr std::size_t kMostExportedLooks = 1'500'000;  // weights: 4 MB of text
constexpr float kExportedScore = 0.1f;

Json layer_json(const char* stack, const char* kind, std::int64_t layer, std::int64_t heads) {
  return {{"stack", stack}, {"kind", kind}, {"layer", layer}, {"heads", heads}};
}

}  // namespace

Json DetectionApi::model() const {
  const models::DetrConfig& config = detector_.model().config();
  Json attention = Json::array();
  for (std::int64_t i = 0; i < config.encoder_layers; ++i)
    attention.push_back(layer_json("encoder", "self", i, config.encoder_heads));
  for (std::int64_t i = 0; i < config.decoder_layers; ++i)
    attention.push_back(layer_json("decoder", "cross", i, config.decoder_heads));
  return {{"kind", "detection"},
          {"config", models::detr_json(config)},
          {"parameters", detector_.parameters()},
          {"labels", config.labels.size()},
          {"queries", config.queries},
          {"positions", ""},
          {"layers", false},
          {"attention", std::move(attention)},
          {"samples", shelf_.samples().names()},
          {"limits", {{"bytes", ImageStore::kMostBytes}}}};
}

const DetectionInspection& DetectionApi::inspection(const Json& request) {
  const std::string name = http::word(request, "image", "");
  if (seen_ && name == newest_) return *seen_;
  seen_.reset();
  seen_ = inspect_detection(detector_, shelf_.find(request));
  newest_ = name;
  return *seen_;
}

Json DetectionApi::inspect(const Json& request) {
  Json json = detection_json(inspection(request), kThreshold);
  json["image"] = http::word(request, "image", "");
  return json;
}

Json DetectionApi::attention(const Json& request) {
  const bool query = http::field(request, "query") != nullptr;
  const std::int64_t row = http::whole(request, query ? "query" : "place", -1);
  const DetectionInspection& seen = inspection(request);
  const auto& layers = query ? seen.decoder : seen.encoder;
  check(row >= 0 && row < layers.front().rows, "there is no {} {} among {}", query ? "query" : "place", row,
        layers.front().rows);
  return looks_json(seen.grid, layers, row);
}

// Where the likelier queries look goes along, and where all places do as long as the file stays small.
Json DetectionApi::exported(const std::string& name) {
  const DetectionInspection& seen = inspection({{"image", name}});
  Json looks = Json::object();
  for (const train::ImageBox& box : seen.boxes)
    if (box.score >= kExportedScore)
      looks[fmt::format("query {}", box.query)] = looks_json(seen.grid, seen.decoder, box.query);
  std::size_t weights = 0;
  for (const GridAttention& layer : seen.encoder) weights += layer.weights.size();
  if (weights <= kMostExportedLooks)
    for (std::int64_t place = 0; place < seen.encoder.front().rows; ++place)
      looks[fmt::format("place {}", place)] = looks_json(seen.grid, seen.encoder, place);
  return {{"result", inspect({{"image", name}})}, {"looks", std::move(looks)}};
}

}  // namespace attend::look
