#include "attend/view/trace.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::view {

const TraceStep& Trace::at(const std::string& name) const {
  for (const TraceStep& step : steps)
    if (step.name == name) return step;
  fail("trace: there is no step '{}'", name);
}

Json significant(float value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 4 - std::floor(std::log10(std::fabs(static_cast<double>(value)))));
  return std::round(static_cast<double>(value) * scale) / scale;
}

Json to_json(const Trace& trace) {
  Json steps = Json::array();
  for (const TraceStep& step : trace.steps) {
    Json values = Json::array();
    for (const float value : step.values) values.push_back(significant(value));
    const std::size_t rows = step.rows.empty() ? 1 : step.rows.size();
    check(rows * step.columns == step.values.size(), "trace: step '{}' has {} values for {} x {}", step.name,
          step.values.size(), rows, step.columns);
    Json shape = step.rows.empty() ? Json::array({step.columns}) : Json::array({rows, step.columns});
    steps.push_back({{"name", step.name},
                     {"formula", step.formula},
                     {"file", step.file},
                     {"line", step.line},
                     {"note", step.note},
                     {"shape", std::move(shape)},
                     {"rows", step.rows},
                     {"values", std::move(values)}});
  }
  return {{"queries", trace.queries}, {"keys", trace.keys},       {"token", trace.token},
          {"head", trace.head},       {"heads", trace.heads},     {"head_width", trace.head_width},
          {"width", trace.width},     {"steps", std::move(steps)}};
}

}  // namespace attend::view
