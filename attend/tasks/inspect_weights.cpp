#include "attend/tasks/inspect_weights.h"

#include <fmt/format.h>

#include <cmath>

#include "attend/base/error.h"

namespace attend::tasks {

WeightEdits::WeightEdits(nn::Parameters& parameters, const Ablation& ablation,
                         const std::vector<std::pair<AttentionPlace, std::int64_t>>& places)
    : parameters_(parameters) {
  try {
    for (const Ablation::Head& head : ablation.heads) {
      std::int64_t heads = 0;
      for (const auto& [place, count] : places)
        if (place.stack == head.place.stack && place.kind == head.place.kind && place.layer == head.place.layer)
          heads = count;
      check(head.head >= 0 && head.head < heads, "there is no head {} of {} {} {}", head.head, head.place.stack,
            head.place.kind, head.place.layer);
      check(std::isfinite(head.scale) && std::fabs(head.scale) <= 100, "a head is scaled by -100 to 100");
      const nn::Parameters::Entry& entry = find(parameter_prefix(head.place) + ".out_proj.weight");  // [C, H·D]
      std::vector<float> values = take(entry);
      const std::int64_t width = entry.parameter->shape[1], columns = width / heads;
      for (std::int64_t row = 0; row < entry.parameter->shape[0]; ++row)
        for (std::int64_t i = 0; i < columns; ++i)
          values[static_cast<std::size_t>(row * width + head.head * columns + i)] *= head.scale;
      parameters_.write(entry, values);
    }
    for (const Ablation::Layer& layer : ablation.layers) {
      check(layer.stack == "encoder" || layer.stack == "decoder", "there is no stack '{}'", layer.stack);
      const std::string name = fmt::format("{}.layers.{}", layer.stack, layer.layer);
      std::vector<std::string> last = {name + ".self_attn.out_proj", name + ".linear2"};
      if (layer.stack == "decoder") last.push_back(name + ".multihead_attn.out_proj");
      for (const std::string& part : last) clear(part + ".weight"), clear(part + ".bias");
    }
  } catch (...) {
    restore();
    throw;
  }
}

WeightEdits::~WeightEdits() { restore(); }

void WeightEdits::restore() {
  for (; !before_.empty(); before_.pop_back()) parameters_.write(*before_.back().first, before_.back().second);
}

const nn::Parameters::Entry& WeightEdits::find(const std::string& name) const {
  for (const nn::Parameters::Entry& entry : parameters_.entries())
    if (entry.name == name) return entry;
  fail("this model has no {}", name);
}

std::vector<float> WeightEdits::take(const nn::Parameters::Entry& entry) {
  before_.emplace_back(&entry, parameters_.read(entry));
  return before_.back().second;
}

void WeightEdits::clear(const std::string& name) {
  const nn::Parameters::Entry& entry = find(name);
  parameters_.write(entry, std::vector<float>(take(entry).size(), 0.0f));
}

}  // namespace attend::tasks
