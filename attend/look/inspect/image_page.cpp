#include "attend/look/inspect/image_page.h"

#include <fmt/core.h>

#include "attend/base/error.h"
#include "attend/image/resize.h"
#include "attend/view/tiles_figure.h"

namespace attend::look {

TellingHeat telling_heat(const ImageInspection& inspection) {
  if (inspection.rollout.missing.empty())
    return {"attention rollout", inspection.rollout.grid, inspection.rollout.weights};
  if (inspection.attention.empty()) return {};
  const ImageAttention& last = inspection.attention.back();
  return {"last layer, all heads averaged", last.place.keys, last.heat(-1)};
}

view::Figure image_page(const ImageInspection& inspection, const std::string& name) {
  const TellingHeat telling = telling_heat(inspection);
  view::ImageHeads page{.image = inspection.seen,
                        .title = inspection.text.empty() ? name : name + " → " + inspection.text,
                        .large_title = telling.title,
                        .large = telling.heat()};
  for (const Candidate& label : inspection.labels) page.labels.emplace_back(label.text, label.probability);
  std::vector<std::vector<std::vector<float>>> heats;  // what the page points at
  for (const ImageAttention& layer : inspection.attention) {
    heats.emplace_back();
    for (std::int64_t head = 0; head < layer.place.heads; ++head) heats.back().push_back(layer.heat(head));
  }
  for (std::size_t i = 0; i < heats.size(); ++i) {
    const Extent2 grid = inspection.attention[i].place.keys;
    view::ImageHeads::Row row{.label = fmt::format("layer {}", i + 1), .heads = {}};
    for (const std::vector<float>& heat : heats[i])
      row.heads.push_back({static_cast<std::size_t>(grid.h), static_cast<std::size_t>(grid.w), heat});
    page.rows.push_back(std::move(row));
  }
  return view::image_heads(page);
}

view::Figure rollout_page(const ImageInspection& inspection, const std::string& name) {
  check(inspection.rollout.missing.empty() && !inspection.attention.empty(), "look: no rollout: {}",
        inspection.rollout.missing.empty() ? "this model has no attention" : inspection.rollout.missing);
  constexpr int kSide = 224;
  const ImageAttention& last = inspection.attention.back();
  const auto tile = [&](const char* title, const Extent2& grid, const std::vector<float>& weights) {
    return view::Tile{title, view::lit(image::resize(inspection.seen, kSide, kSide, {.filter = image::Filter::box}),
                                       {static_cast<std::size_t>(grid.h), static_cast<std::size_t>(grid.w), weights})};
  };
  return view::tiles_figure({{"input", inspection.seen},
                             tile("attention rollout", inspection.rollout.grid, inspection.rollout.weights),
                             tile("last layer alone", last.place.keys, last.heat(-1))},
                            {.title = inspection.text.empty() ? name : name + " → " + inspection.text, .width = kSide});
}

}  // namespace attend::look
