#include "attend/inspect/run_painter.h"

#include <algorithm>
#include <cmath>

#include "attend/base/base64.h"
#include "attend/base/error.h"

namespace attend::tasks {

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

}  // namespace

const Anatomy& RunPainter::anatomy() {
  if (!anatomy_) anatomy_ = anatomy_of(read_json(folder_ / "config.json"), (folder_ / "config.json").string());
  return *anatomy_;
}

train::ExampleLimits RunPainter::limits() {
  std::int64_t heads = 0;
  for (const Anatomy::Attention& attention : anatomy().attention) heads += attention.heads;
  return heads <= 64 ? train::ExampleLimits{} : train::ExampleLimits{.count = 1, .tokens = 24};
}

Json RunPainter::paint(const std::vector<train::Example>& examples) {
  Json list = Json::array();
  for (const train::Example& example : examples) {
    Json attention = Json::array();
    for (const Anatomy::Attention& place : anatomy().attention) {
      const auto seen = std::ranges::find(example.attention, place.label, &train::Example::Attention::label);
      check(seen != example.attention.end(), "look: the model has no attention '{}'", place.label);
      attention.push_back(packed(place, *seen, example));
    }
    list.push_back({{"source", side(example.read, example.read_text)},
                    {"target", side(example.written, example.written_text)},
                    {"text", example.text},
                    {"attention", attention}});
  }
  return list;
}

}  // namespace attend::tasks
