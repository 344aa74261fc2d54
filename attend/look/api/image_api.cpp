#include "attend/look/api/image_api.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/http/json_request.h"
#include "attend/look/api/read_place.h"
#include "attend/look/inspect/image_json.h"

namespace attend::look {

namespace {

constexpr std::int64_t kMostExportedWeights = 1'500'000;  // 4 MB of text

const AttentionPlace& encoder_place() {
  static const AttentionPlace kPlace{"encoder", "self", 0};
  return kPlace;
}

}  // namespace

Json ImageApi::model() const {
  const ImageCard& card = inspector_.card();
  Json attention = Json::array();
  for (std::size_t i = 0; i < inspector_.places().size(); ++i)
    attention.push_back(place_json(inspector_.places()[i], static_cast<std::int64_t>(i)));
  return {{"kind", "image"},
          {"config", card.config},
          {"parameters", card.parameters},
          {"labels", card.labels},
          {"size", {card.size.h, card.size.w}},
          {"patches", {card.patches.h, card.patches.w}},
          {"positions", card.positions ? "learned" : ""},
          {"layers", inspector_.anatomy().has_layers()},
          {"unwalked", card.unwalked},
          {"attention", std::move(attention)},
          {"samples", shelf_.samples().names()},
          {"limits", {{"bytes", ImageStore::kMostBytes}}}};
}

const ImageInspection& ImageApi::inspection(const Json& request) {
  ImageOptions options;
  const Json* ablation = http::field(request, "ablation");
  if (ablation) options.ablation = read_ablation(*ablation, encoder_place());
  const std::string key = http::word(request, "image", "") + ' ' + (ablation ? ablation->dump() : "");
  if (seen_ && key == newest_) return *seen_;
  seen_.reset();
  seen_ = inspector_.inspect(shelf_.find(request), options);
  newest_ = key;
  return *seen_;
}

Json ImageApi::inspect(const Json& request) {
  Json json = image_json(inspection(request));
  json["image"] = http::word(request, "image", "");
  return json;
}

Json ImageApi::attention(const Json& request) {
  const std::int64_t layer = http::whole(request, "layer", 0);
  check(layer >= 0 && layer < static_cast<std::int64_t>(inspector_.places().size()), "there is no layer {}", layer);
  return attention_json(inspection(request).attention[static_cast<std::size_t>(layer)], layer);
}

Json ImageApi::trace(const Json& request) {
  return view::to_json(inspector_.trace(shelf_.find(request), {.layer = http::whole(request, "layer", 0),
                                                               .head = http::whole(request, "head", 0),
                                                               .token = http::whole(request, "token", 0)}));
}

Json ImageApi::positions() const {
  std::vector<float> likeness = inspector_.position_likeness();
  for (float& one : likeness) one = (one + 1) / 2;  // cosines as shares
  const Extent2 grid = inspector_.places().front().keys;
  return {{"grid", {grid.h, grid.w}}, {"likeness", packed_shares(likeness)}};
}

Json ImageApi::exported(const std::string& name) {
  const Json where = {{"image", name}};
  Json data = {{"result", inspect(where)}, {"layers", Json::array()}};
  std::int64_t weights = 0;
  for (const models::AttentionPlace& place : inspector_.places()) {
    const auto count = [&](const Extent2& side) { return place.tokens + side.h * side.w; };
    weights +=
        place.heads * count(place.queries) * (place.window > 0 ? place.window * place.window : count(place.keys));
  }
  for (std::size_t i = 0; i < inspector_.places().size() && weights <= kMostExportedWeights; ++i)
    data["layers"].push_back(attention({{"image", name}, {"layer", i}}));
  if (inspector_.card().positions) data["positions"] = positions();
  if (inspector_.card().unwalked.empty()) {
    const Json walk = {{"image", name}, {"layer", inspector_.places().size() - 1}, {"head", 0}, {"token", 0}};
    data["trace"] = {{"where", walk}, {"steps", trace(walk)}};
  }
  return data;
}

}  // namespace attend::look
