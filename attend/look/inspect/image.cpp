#include "attend/look/inspect/image.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "attend/base/error.h"
#include "attend/base/ranking.h"
#include "attend/look/inspect/candidates.h"
#include "attend/look/inspect/layer_probe.h"
#include "attend/look/inspect/weights.h"
#include "attend/view/collector.h"

namespace attend::look {

namespace {

constexpr std::int64_t kMostPatches = 28;  // on a side, for a person to point at
constexpr std::int64_t kOtherPatches = 7;  // of a model that has none
constexpr std::string_view kPositionTable = "position_embeddings";

catalogue::Task task_of(const std::filesystem::path& folder) { return catalogue::read_config(folder).task; }

Extent2 patches_of(std::span<const models::AttentionPlace> places) {
  if (places.empty()) return {kOtherPatches, kOtherPatches};
  Extent2 grid = places.front().queries;
  while (grid.h > kMostPatches && grid.h % 2 == 0) grid.h /= 2;
  while (grid.w > kMostPatches && grid.w % 2 == 0) grid.w /= 2;
  return grid;
}

std::string unwalked(const Anatomy& anatomy, std::span<const models::AttentionPlace> places) {
  if (places.empty()) return "this model has no attention";
  for (const models::AttentionPlace& place : places)
    if (place.window > 0) return "scores inside of windows get a learned bias for the distance, which is not shown";
  const bool one_grid = std::ranges::all_of(places, [&](const models::AttentionPlace& place) {
    return place.queries.h == place.keys.h && place.queries.w == place.keys.w;
  });
  if (!one_grid) return "queries and keys are pooled before they meet, which is not shown";
  return anatomy.has_layers() ? "" : "the names of its parameters do not tell where its layers end";
}

std::vector<std::string> token_names(const models::AttentionPlace& place) {
  constexpr const char* kOwn[] = {"class", "distilled"};
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < place.tokens; ++i) names.push_back(i < 2 ? kOwn[i] : fmt::format("token {}", i + 1));
  for (std::int64_t y = 0; y < place.queries.h; ++y)
    for (std::int64_t x = 0; x < place.queries.w; ++x) names.push_back(fmt::format("{}, {}", y + 1, x + 1));
  return names;
}

// The labels with the highest scores, as the model's problem makes them of its logits.
std::vector<Candidate> judged(std::vector<float> logits, const models::ImageModel& model, std::size_t count) {
  models::logits_to_scores(logits, model.problem());
  std::vector<Candidate> labels;
  for (const std::size_t label : largest(logits, static_cast<std::int64_t>(count)))
    labels.push_back(
        {.id = static_cast<std::int32_t>(label), .text = model.labels()[label], .probability = logits[label]});
  return labels;
}

}  // namespace

ImageInspector::ImageInspector(const std::filesystem::path& folder, Backend& backend, DType dtype)
    : encoder_(folder, task_of(folder), backend, dtype),
      has_head_(task_of(folder) == catalogue::Task::classify_images),
      places_(encoder_.model().attention_places()) {
  anatomy_ = anatomy_of(encoder_.model().attention_places(), encoder_.parameters().entries());
  for (const nn::Parameters::Entry& entry : encoder_.parameters().entries())
    if (entry.name.ends_with(kPositionTable) && !places_.empty() &&
        entry.parameter->shape.size() / entry.parameter->shape[-1] ==
            tokens() + places_.front().keys.h * places_.front().keys.w)
      positions_ = entry.name;
  card_ = {.config = encoder_.model().config(),
           .parameters = encoder_.parameters().count(),
           .labels = has_head_ ? static_cast<std::int64_t>(encoder_.model().labels().size()) : 0,
           .size = encoder_.model().size(),
           .patches = patches_of(places_),
           .positions = !positions_.empty(),
           .unwalked = unwalked(anatomy_, places_)};
}

image::Image ImageInspector::painted_over(image::Image image, const std::vector<std::int64_t>& patches) const {
  const auto [down, across] = card_.patches;
  const image::PreprocessorConfig& config = encoder_.preprocessor().config();
  for (const std::int64_t patch : patches) {
    check(patch >= 0 && patch < down * across, "there is no patch {} among {} x {}", patch, down, across);
    const auto top = static_cast<int>(patch / across * image.height / down);
    const auto bottom = static_cast<int>((patch / across + 1) * image.height / down);
    const auto left = static_cast<int>(patch % across * image.width / across);
    const auto right = static_cast<int>((patch % across + 1) * image.width / across);
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x)
        for (std::size_t c = 0; c < 3; ++c)
          image.row(y)[3 * x + static_cast<int>(c)] =
              static_cast<std::uint8_t>(std::clamp(std::lround(config.mean[c] / config.rescale), 0L, 255L));
  }
  return image;
}

ImageInspection ImageInspector::inspect(const image::Image& prepared, const ImageOptions& options) {
  ImageInspection result{.seen = painted_over(prepared, options.ablation.masked)};
  WeightEdits edits(encoder_.parameters(), options.ablation, anatomy_);
  if (!options.ablation.positions) {
    check(!positions_.empty(), "this model has no table of positions to leave out");
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < tokens() + places_.front().keys.h * places_.front().keys.w; ++i)
      rows.push_back(std::min(i, tokens()));
    edits.rearrange(positions_, rows);
  }
  view::Collector collector;
  Pass pass(encoder_.backend(), {.probe = &collector});
  const Tensor states = encoder_.model().states(pass.input(encoder_.pixels(std::span(&result.seen, 1))));
  if (has_head_) {
    const std::vector<float> logits = download(encoder_.model().scores(encoder_.model().features(states)));
    result.labels = judged(logits, encoder_.model(), options.candidates);
    const Candidate& first = result.labels[0];
    result.text = encoder_.model().problem() == models::ProblemType::regression
                      ? fmt::format("{} {:.6g}", first.text, first.probability)
                      : fmt::format("{} {}", first.text, percent_of(first.probability));
  }
  for (const models::AttentionPlace& place : places_) result.attention.emplace_back(place, collector.at(place.label));
  result.rollout = rollout_of(result.attention);
  return result;
}

view::Trace ImageInspector::trace(const image::Image& prepared, const ImageTraceRequest& request) {
  check(card_.unwalked.empty(), "this model is not walked through step by step: {}", card_.unwalked);
  const std::vector<std::string> tokens = token_names(places_.front());
  const TraceRequest where{
      .text = {}, .place = {"encoder", "self", request.layer}, .head = request.head, .token = request.token};
  return trace_layer(anatomy_, where, {tokens, tokens}, encoder_.backend(), [&](Pass& pass) {
    encoder_.model().states(pass.input(encoder_.pixels(std::span(&prepared, 1))));
  });
}

std::vector<float> ImageInspector::position_likeness() const {
  check(!positions_.empty(), "this model has no table of positions");
  const nn::Parameters::Entry& entry = find_entry(encoder_.parameters(), positions_);
  const std::vector<float> table = encoder_.parameters().read(entry);
  const auto width = static_cast<std::size_t>(entry.parameter->shape[-1]), first = static_cast<std::size_t>(tokens());
  const std::size_t patches = table.size() / width - first;
  const auto dot = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i)
      sum += static_cast<double>(table[(first + a) * width + i]) * static_cast<double>(table[(first + b) * width + i]);
    return sum;
  };
  std::vector<double> norms;
  for (std::size_t i = 0; i < patches; ++i) norms.push_back(std::sqrt(dot(i, i)));
  std::vector<float> likeness(patches * patches);
  for (std::size_t a = 0; a < patches; ++a)
    for (std::size_t b = 0; b < patches; ++b) {
      const double norm = norms[a] * norms[b];
      likeness[a * patches + b] = norm > 0 ? static_cast<float>(dot(a, b) / norm) : 0.0f;
    }
  return likeness;
}

}  // namespace attend::look
