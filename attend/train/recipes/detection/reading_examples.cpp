#include "attend/train/recipes/detection/reading_examples.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "attend/base/assignment.h"
#include "attend/base/joined.h"
#include "attend/base/unicode/unicode.h"
#include "attend/models/detr_loss.h"
#include "attend/ops/arithmetic.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/token_strings.h"
#include "attend/tasks/translator.h"
#include "attend/train/recipes/detection/detect_task.h"
#include "attend/view/collector.h"

namespace attend::train {

namespace {

constexpr float kShownScore = 0.3f;
constexpr std::size_t kMostShownBoxes = 12;

Tensor in_dtype(Pass& pass, const Tensor& pixels, DType dtype) {
  return pass.input(dtype == DType::f32 ? pixels : ops::cast(pixels, dtype));
}

// What is there, with the query that each was matched to.
std::vector<train::ImageBox> true_boxes(const models::Detr& model, const data::HostDetectionBatch& batch,
                                        std::span<const float> logits, std::span<const float> boxes) {
  const models::DetrObjects objects = objects_in(batch).front();
  std::vector<train::ImageBox> truth;
  for (const data::LabelledBox& box : batch.boxes.front())
    truth.push_back({.label = model.config().labels[static_cast<std::size_t>(box.label)],
                     .score = 1,
                     .box = {box.left, box.top, box.right - box.left, box.bottom - box.top}});
  if (truth.empty()) return truth;
  const std::vector<double> costs = models::matching_costs(logits, boxes, objects, model.config());
  for (const AssignedPair& pair :
       linear_sum_assignment(costs, static_cast<int>(model.config().queries), static_cast<int>(truth.size())))
    truth[static_cast<std::size_t>(pair.column)].query = pair.row;
  return truth;
}

}  // namespace

train::Example detection_example(const DetectionExample& parts, const data::ValidationDetections::Shown& shown) {
  const models::Detr& model = parts.model;
  const data::HostDetectionBatch& batch = shown.batch;
  const Extent2 padded{batch.side, batch.side};
  const Tensor pixels = make_tensor(parts.backend, {1, batch.side, batch.side, 3}, DType::f32);
  upload(pixels, batch.values);
  const models::PositionLayout places = model.places(parts.backend, parts.dtype, padded, batch.sizes);
  const std::string label = models::Detr::cross_attention_label(model.config().decoder_layers - 1);
  view::Collector collector(label);
  Pass pass(parts.backend, {.probe = &collector});
  const models::DetrOutput output = model.detect(in_dtype(pass, pixels, parts.dtype), places);
  const std::vector<float> logits = download(output.logits), boxes = download(output.boxes);
  const Extent2 grid = model.own_grid(padded, batch.sizes.front());
  const std::vector<float> looks = collector.at(label).matrix(0);  // [Q, S], the grid's places first
  const auto across = static_cast<std::ptrdiff_t>(collector.at(label).shape[3]);

  train::Example example{.image = train::Example::Image{.seen = shown.prepared, .grid = grid}};
  example.image->truth = true_boxes(model, batch, logits, boxes);
  std::vector<std::string> there;
  for (const train::ImageBox& box : *example.image->truth) there.push_back(box.label);
  example.written_text = joined(there, ", ");
  std::vector<train::ImageBox>& found = example.image->found.emplace();
  for (const tasks::Detected& one : tasks::detected(logits, boxes, {})) {
    const bool matched =
        std::ranges::find(*example.image->truth, one.query, &train::ImageBox::query) != example.image->truth->end();
    if (!matched && (one.score < kShownScore || found.size() >= kMostShownBoxes)) continue;
    const auto row = looks.begin() + one.query * across;
    found.push_back({.label = model.config().labels[static_cast<std::size_t>(one.label)],
                     .score = one.score,
                     .box = {one.box.x, one.box.y, one.box.width, one.box.height},
                     .query = one.query,
                     .looks = {row, row + grid.h * grid.w}});
  }
  return example;
}

train::Example caption_example(const CaptionExample& parts, const image::Image& prepared,
                               const std::string& reference) {
  std::vector<float> values(prepared.pixels.size());
  image::to_floats(prepared, parts.normalization, values.data());
  const Tensor pixels = make_tensor(parts.backend, {1, prepared.height, prepared.width, 3}, DType::f32);
  upload(pixels, values);
  const bool attention = !parts.model.decoder().attention_label().empty();
  const tasks::Description said = parts.describer.describe(
      parts.dtype == DType::f32 ? pixels : ops::cast(pixels, parts.dtype), {.beams = 1, .attention = attention})[0];
  train::Example example{.written_text = reference,
                         .text = replace_invalid_utf8(said.text),
                         .image = train::Example::Image{.seen = prepared, .grid = said.grid}};
  std::vector<std::string> tokens = tasks::token_strings(parts.tokenizer, said.ids);
  if (said.finished) tokens.push_back(fmt::format(" {}", tasks::kEndToken));
  std::vector<train::ImageWord>& words = example.image->words.emplace();
  for (const std::string& token : tokens) words.push_back({.text = replace_invalid_utf8(token)});
  const std::ptrdiff_t places = said.grid.h * said.grid.w;
  for (std::size_t i = 0; attention && i < words.size(); ++i) {
    const auto from = said.looks.begin() + static_cast<std::ptrdiff_t>(i) * places;
    words[i].looks.assign(from, from + places);
  }
  return example;
}

}  // namespace attend::train
