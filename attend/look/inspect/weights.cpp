#include "attend/look/inspect/weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attend/base/error.h"

namespace attend::look {

WeightEdits::WeightEdits(nn::Parameters& parameters, const Ablation& ablation, const Anatomy& anatomy)
    : parameters_(parameters) {
  try {
    for (const Ablation::Head& head : ablation.heads) scale_head(anatomy, head);
    if (!ablation.scaling)
      for (const Anatomy::Attention& attention : anatomy.attention) unscale(anatomy, attention);
    for (const Ablation::Layer& layer : ablation.layers) {
      const Anatomy::FeedForward& feed_forward = anatomy.feed_forward_of(layer.stack, layer.layer);
      clear(feed_forward.contract + ".weight"), clear(feed_forward.contract + ".bias");
      for (const Anatomy::Attention& attention : anatomy.attention)
        if (attention.place.stack == layer.stack && attention.place.layer == layer.layer)
          clear(attention.output + ".weight"), clear(attention.output + ".bias");
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

std::vector<float> WeightEdits::take(const nn::Parameters::Entry& entry) {
  before_.emplace_back(&entry, parameters_.read(entry));
  return before_.back().second;
}

void WeightEdits::scale_head(const Anatomy& anatomy, const Ablation::Head& head) {
  const Anatomy::Attention& attention = anatomy.at(head.place, head.head);
  check(!attention.output.empty(), "the only attention of this model cannot be switched off");
  check(std::isfinite(head.scale) && std::fabs(head.scale) <= 100, "a head is scaled by -100 to 100");
  // [C, H·D], or [H·D, C]: what W_O reads of this head.
  const std::string name = attention.output + ".weight";
  const nn::Parameters::Entry& entry = find_entry(parameters_, name);
  std::vector<float> values = take(entry);
  const std::int64_t columns = entry.parameter->shape[1];
  const std::int64_t size = entry.parameter->shape[anatomy.input_major ? 0 : 1] / attention.heads;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t input = anatomy.input_major ? at / columns : at % columns;
    if (input / size == head.head) values[i] *= head.scale;
  }
  parameters_.write(entry, values);
}

void WeightEdits::unscale(const Anatomy& anatomy, const Anatomy::Attention& attention) {
  check(!attention.query.empty() && attention.score == nn::Score::scaled_dot,
        "the attention of this model does not divide by the root of the head width, or its queries are not known");
  const float root = std::sqrt(static_cast<float>(anatomy.width / attention.heads));
  for (const std::string_view part : {"weight", "bias"}) {
    // The queries are the first C outputs: rows of [3·C, C], or columns of [C, 3·C]. Cross-attention has them alone.
    const std::string name = attention.query + std::string(part);
    if (part == "bias" && !has_entry(parameters_, name)) continue;  // a projection without bias
    const nn::Parameters::Entry& entry = find_entry(parameters_, name);
    std::vector<float> values = take(entry);
    const Shape& shape = entry.parameter->shape;
    const std::int64_t columns = shape.rank() == 1 ? 1 : shape[1];
    const bool by_columns = anatomy.input_major && shape.rank() == 2;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if ((by_columns ? at % columns : at / columns) < anatomy.width) values[i] *= root;
    }
    parameters_.write(entry, values);
  }
}

void WeightEdits::rearrange(const std::string& table, std::span<const std::int64_t> rows) {
  const nn::Parameters::Entry& entry = find_entry(parameters_, table);
  const std::vector<float> before = take(entry);
  std::vector<float> values = before;
  const auto width = static_cast<std::size_t>(entry.parameter->shape[-1]);
  for (std::size_t i = 0; i < rows.size() && (i + 1) * width <= values.size(); ++i)
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rows[i]) * width), width,
                values.begin() + static_cast<std::ptrdiff_t>(i * width));
  parameters_.write(entry, values);
}

void WeightEdits::clear(const std::string& name) {
  if (name.ends_with(".bias") && !has_entry(parameters_, name)) return;  // a projection without bias
  const nn::Parameters::Entry& entry = find_entry(parameters_, name);
  parameters_.write(entry, std::vector<float>(take(entry).size(), 0.0f));
}

bool has_entry(const nn::Parameters& parameters, const std::string& name) {
  return std::ranges::any_of(parameters.entries(), [&](const auto& entry) { return entry.name == name; });
}

const nn::Parameters::Entry& find_entry(const nn::Parameters& parameters, const std::string& name) {
  for (const nn::Parameters::Entry& entry : parameters.entries())
    if (entry.name == name) return entry;
  fail("this model has no {}", name);
}

}  // namespace attend::look
