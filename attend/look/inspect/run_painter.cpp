#include "attend/look/inspect/run_painter.h"

#include <algorithm>
#include <cmath>

#include "attend/base/base64.h"
#include "attend/base/error.h"
#include "attend/catalogue/catalogue.h"
#include "attend/look/inspect/caption.h"
#include "attend/look/inspect/detection.h"
#include "attend/look/inspect/image_json.h"
#include "attend/models/sagan.h"

namespace attend::look {

namespace {

Json packed(const Anatomy::Attention& place, const train::Example::Attention& seen, const train::Example& example) {
  const std::int64_t rows = example.rows ? example.rows : seen.shape[2];
  const std::int64_t columns = example.columns ? example.columns : seen.shape[3];
  std::string bytes;
  for (std::int64_t h = 0; h < place.heads; ++h)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto at = static_cast<std::size_t>((h * seen.shape[2] + r) * seen.shape[3] + c);
        bytes += static_cast<char>(std::lround(255 * std::clamp(seen.weights[at], 0.0f, 1.0f)));
      }
  return {{"stack", place.place.stack},
          {"kind", place.place.kind},
          {"layer", place.place.layer},
          {"heads", place.heads},
          {"rows", rows},
          {"columns", columns},
          {"packed", base64(bytes)}};
}

Json side(const std::vector<std::string>& tokens, const std::string& text) {
  Json json = {{"pieces", tokens}};
  if (!text.empty()) json["text"] = text;
  return json;
}

const train::Example::Attention& seen_in(const train::Example& example, const std::string& label) {
  const auto seen = std::ranges::find(example.attention, label, &train::Example::Attention::label);
  check(seen != example.attention.end(), "look: the model has no attention '{}'", label);
  return *seen;
}

constexpr std::size_t kMostDrawn = 10;  // they are small, and what a film of them is about

// As the page's own image, with what the label should be.
Json painted_image(const train::Example& example, const std::vector<models::AttentionPlace>& places) {
  ImageInspection inspection{.seen = example.image->seen, .text = example.text};
  for (const auto& [label, probability] : example.image->labels)
    inspection.labels.push_back({static_cast<std::int32_t>(inspection.labels.size()), label, probability});
  for (const models::AttentionPlace& place : places) {
    const train::Example::Attention& seen = seen_in(example, place.label);
    inspection.attention.emplace_back(place, view::AttentionWeights{seen.shape, seen.weights});
  }
  inspection.rollout = rollout_of(inspection.attention);
  Json json = image_json(inspection);
  json["seen"] = shown_address(inspection.seen);  // a line for each of fifty moments: small
  return json;
}

constexpr float kPaintedScore = 0.5f;  // of what is named in words

// What was found, and which query was matched to what is there.
Json painted_detection(const train::Example& example) {
  const train::Example::Image& image = *example.image;
  return detection_json({.seen = image.seen,
                         .grid = image.grid,
                         .boxes = *image.found,
                         .truth = image.truth.value_or(std::vector<train::ImageBox>())},
                        kPaintedScore);
}

Json painted_caption(const train::Example& example) {
  const train::Example::Image& image = *example.image;
  CaptionInspection inspection{.seen = image.seen, .text = example.text, .grid = image.grid};
  const auto places = static_cast<std::size_t>(image.grid.h * image.grid.w);
  SeenAttention layer{.place = {"decoder", "cross", 0}, .heads = 1, .rows = image.words->size(), .columns = places};
  for (const train::ImageWord& word : *image.words) {
    inspection.tokens.push_back(word.text);
    layer.weights.insert(layer.weights.end(), word.looks.begin(), word.looks.end());
  }
  if (!layer.weights.empty()) inspection.attention.push_back(std::move(layer));
  return caption_json(inspection);
}

}  // namespace

const Anatomy& RunPainter::anatomy() {
  if (!anatomy_) anatomy_ = anatomy_of(read_json(folder_ / "config.json"), (folder_ / "config.json").string());
  return *anatomy_;
}

train::ExampleLimits RunPainter::limits() {
  const std::string file = (folder_ / "config.json").string();
  const Json config = read_json(file);
  if (catalogue::entry_of(config, file).body == catalogue::Task::draw)
    return {.count = std::min(kMostDrawn, models::sagan_config(config, file).labels.size())};
  std::int64_t heads = 0;
  for (const Anatomy::Attention& attention : anatomy().attention) heads += attention.heads;
  return heads <= 64 ? train::ExampleLimits{} : train::ExampleLimits{.count = 1, .tokens = 24};
}

Json RunPainter::paint(const std::vector<train::Example>& examples) {
  Json list = Json::array();
  for (const train::Example& example : examples) {
    if (example.image) {
      const bool found = example.image->found.has_value(), words = example.image->words.has_value();
      Json json = found   ? painted_detection(example)
                  : words ? painted_caption(example)
                          : painted_image(example, anatomy().places);
      json.update({{"source", side(example.read, example.read_text)}, {"target", side({}, example.written_text)}});
      list.push_back(std::move(json));
      continue;
    }
    Json attention = Json::array();
    for (const Anatomy::Attention& place : anatomy().attention)
      attention.push_back(packed(place, seen_in(example, place.label), example));
    list.push_back({{"source", side(example.read, example.read_text)},
                    {"target", side(example.written, example.written_text)},
                    {"text", example.text},
                    {"attention", attention}});
  }
  return list;
}

}  // namespace attend::look
