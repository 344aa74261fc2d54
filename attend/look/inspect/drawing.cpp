#include "attend/look/inspect/drawing.h"

#include <utility>

#include "attend/base/error.h"
#include "attend/view/collector.h"

namespace attend::look {

tasks::DrawingPlan DrawingInspector::plan(const Place& place) const {
  check(place.of_class >= 0 && place.of_class < config().classes(), "there is no class {} among {}", place.of_class,
        config().classes());
  return drawer_.plan(static_cast<std::size_t>(place.of_class), place.seed, place.row);
}

DrawingInspection DrawingInspector::inspect(const Place& place) const {
  const tasks::DrawingPlan one = plan(place);
  view::Collector collector;
  DrawingInspection result{.drawn = std::move(drawer_.draw({&one, 1}, &collector).at(0))};
  for (const models::AttentionPlace& each : places_) result.attention.emplace_back(each, collector.at(each.label));
  return result;
}

std::vector<std::vector<image::Image>> DrawingInspector::grid(std::uint64_t seed, std::int64_t columns) const {
  std::vector<tasks::DrawingPlan> plans;
  for (std::int64_t each = 0; each < config().classes(); ++each)
    for (std::int64_t row = 0; row < columns; ++row)
      plans.push_back(plan({.of_class = each, .seed = seed, .row = static_cast<std::uint64_t>(row)}));
  std::vector<image::Image> drawn = drawer_.draw(plans);
  std::vector<std::vector<image::Image>> result(static_cast<std::size_t>(config().classes()));
  for (std::size_t i = 0; i < drawn.size(); ++i)
    result[i / static_cast<std::size_t>(columns)].push_back(std::move(drawn[i]));
  return result;
}

std::vector<image::Image> DrawingInspector::walk(const Place& from, const Place& to, std::int64_t frames) const {
  const tasks::DrawingPlan begin = plan(from), end = plan(to);
  std::vector<tasks::DrawingPlan> plans;
  for (std::int64_t i = 0; i < frames; ++i) {
    const float share = frames > 1 ? static_cast<float>(i) / static_cast<float>(frames - 1) : 0.0f;
    tasks::DrawingPlan between_both{tasks::between(begin.noise, end.noise, share), begin.classes};
    for (std::size_t j = 0; j < begin.classes.size(); ++j)
      between_both.classes[j] = (1 - share) * begin.classes[j] + share * end.classes[j];
    plans.push_back(std::move(between_both));
  }
  return drawer_.draw(plans);
}

}  // namespace attend::look
