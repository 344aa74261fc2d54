#include "attend/look/inspect/caption.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/look/inspect/candidates.h"
#include "attend/look/inspect/image_json.h"
#include "attend/nn/sequences.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/token_strings.h"
#include "attend/tasks/translator.h"
#include "attend/view/caption_figure.h"
#include "attend/view/collector.h"
#include "attend/view/trace.h"

namespace attend::look {

namespace {

// What a layer's number leaves of a label: layers of one stack share it.
std::string without_digits(std::string label) {
  std::erase_if(label, [](unsigned char c) { return std::isdigit(c) != 0; });
  return label;
}

// "decoder.10.cross_attention" -> 10; 0 where there is no number.
std::int64_t layer_in(const std::string& label) {
  std::int64_t number = 0;
  for (const char c : label)
    if (std::isdigit(static_cast<unsigned char>(c))) number = 10 * number + (c - '0');
  return number;
}

std::string candidate_name(const tasks::LoadedDescriber& describer, std::int32_t id) {
  if (id == describer.describer.tokens().end) return tasks::kEndToken;
  const std::string text = describer.tokenizer.decode(std::span(&id, 1));
  const auto token = describer.tokenizer.id_to_token(id);
  return replace_invalid_utf8(text.empty() && token ? std::string(*token) : text);
}

// All layers that look at the image, without the encoder's own tokens.
std::vector<SeenAttention> seen_layers(const view::Collector& collector, const models::Captioner& model,
                                       std::int64_t rows) {
  std::vector<SeenAttention> layers;
  const std::string label = model.decoder().attention_label();
  if (label.empty()) return layers;
  const std::int64_t front = model.tokens_in_front();
  for (const auto& [name, seen] : collector.all()) {
    if (without_digits(name) != without_digits(label)) continue;
    const std::int64_t heads = seen.shape[1], across = seen.shape[3];
    SeenAttention layer{.place = {"decoder", "cross", layer_in(name)},
                        .heads = heads,
                        .rows = static_cast<std::size_t>(rows),
                        .columns = static_cast<std::size_t>(across - front)};
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto begin = seen.values.begin() + (h * seen.shape[2] + r) * across;
        layer.weights.insert(layer.weights.end(), begin + front, begin + across);
      }
    layers.push_back(std::move(layer));
  }
  std::ranges::sort(layers, {}, [](const SeenAttention& layer) { return layer.place.layer; });
  return layers;
}

// One pass over the finished sentence: what each step might have written instead, and where it looked.
void read_again(const tasks::LoadedDescriber& describer, const Tensor& pixels, const std::vector<std::int32_t>& written,
                const CaptionOptions& options, CaptionInspection& result) {
  const tasks::Describer::Tokens& tokens = describer.describer.tokens();
  const models::Captioner& model = *describer.model;
  std::vector<std::int32_t> answers = written, inputs = {tokens.start};
  inputs.insert(inputs.end(), written.begin(), written.end());
  if (result.finished)
    answers.push_back(tokens.end);
  else
    inputs.pop_back();
  view::Collector collector;
  Pass pass(describer.backend, {.probe = &collector});
  const Tensor regions = model.regions(pass.input(pixels));
  const Tensor states = model.decoder().decode(regions, {.ids = pass.input(nn::row_of(describer.backend, inputs))});
  const std::vector<float> logits = download(model.decoder().logits(states));
  const auto vocabulary = static_cast<std::size_t>(model.decoder().vocabulary());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::span<const float> row = std::span(logits).subspan(i * vocabulary, vocabulary);
    const float log_sum = log_sum_of(row);
    result.steps.push_back(
        {.chosen = answers[i],
         .probability = std::exp(row[static_cast<std::size_t>(answers[i])] - log_sum),
         .candidates = candidates_of(
             row,
             {.count = options.candidates,
              .log_sum = log_sum,
              .allowed = [&](std::int32_t id) { return std::ranges::find(tokens.never, id) == tokens.never.end(); },
              .name = [&](std::int32_t id) { return candidate_name(describer, id); }})});
  }
  result.attention = seen_layers(collector, model, static_cast<std::int64_t>(answers.size()));
  result.grid = model.grid(regions.dim(1));
  result.channels = regions.dim(2);
  if (const Tensor start = model.decoder().summary(regions); start.defined()) result.start = download(start);
}

}  // namespace

std::vector<float> CaptionInspection::looks(std::size_t token) const {
  if (attention.empty()) return {};
  const SeenAttention& last = attention.back();
  std::vector<float> mean(last.columns);
  for (std::size_t h = 0; h < static_cast<std::size_t>(last.heads); ++h)
    for (std::size_t i = 0; i < last.columns; ++i)
      mean[i] += last.weights[(h * last.rows + token) * last.columns + i] / static_cast<float>(last.heads);
  return mean;
}

CaptionInspection inspect_caption(const tasks::LoadedDescriber& describer, const image::Image& prepared,
                                  const CaptionOptions& options) {
  const Tensor pixels = tasks::pixels_for(describer.model->encoder(), describer.preprocessor, std::span(&prepared, 1),
                                          describer.backend, describer.dtype);
  const tasks::Description said = describer.describer.describe(pixels, {.beams = options.beams})[0];
  CaptionInspection result{.seen = prepared, .text = said.text, .score = said.score, .finished = said.finished};
  result.tokens = tasks::token_strings(describer.tokenizer, said.ids);
  if (said.finished) result.tokens.push_back(fmt::format(" {}", tasks::kEndToken));
  for (std::string& token : result.tokens) token = replace_invalid_utf8(token);
  read_again(describer, pixels, said.ids, options, result);
  return result;
}

std::vector<std::int64_t> caption_heads(const tasks::LoadedDescriber& describer) {
  if (describer.model->decoder().attention_label().empty()) return {};
  const Extent2 size = describer.model->encoder().size();
  image::Image grey(static_cast<int>(size.w), static_cast<int>(size.h));
  std::ranges::fill(grey.pixels, std::uint8_t{128});
  CaptionInspection seen;
  read_again(describer,
             tasks::pixels_for(describer.model->encoder(), describer.preprocessor, std::span(&grey, 1),
                               describer.backend, describer.dtype),
             {}, {.candidates = 1}, seen);
  std::vector<std::int64_t> heads;
  for (const SeenAttention& layer : seen.attention) heads.push_back(layer.heads);
  return heads;
}

Json caption_json(const CaptionInspection& inspection) {
  const auto rounded = [](float value) { return std::round(static_cast<double>(value) * 1e4) / 1e4; };
  Json steps = Json::array(), attention = Json::array(), start = Json::array();
  for (const InspectedStep& step : inspection.steps) {
    Json candidates = Json::array();
    for (const Candidate& one : step.candidates)
      candidates.push_back({{"id", one.id}, {"text", one.text}, {"probability", rounded(one.probability)}});
    steps.push_back(
        {{"chosen", step.chosen}, {"probability", rounded(step.probability)}, {"candidates", std::move(candidates)}});
  }
  for (const SeenAttention& layer : inspection.attention)
    attention.push_back({{"stack", layer.place.stack},
                         {"kind", layer.place.kind},
                         {"layer", layer.place.layer},
                         {"heads", layer.heads},
                         {"weights", packed_shares(layer.weights)}});
  for (const float value : inspection.start) start.push_back(view::significant(value));
  return {{"seen", shown_address(inspection.seen)},
          {"text", inspection.text},
          {"score", rounded(inspection.score)},
          {"finished", inspection.finished},
          {"grid", {inspection.grid.h, inspection.grid.w}},
          {"tokens", inspection.tokens},
          {"steps", std::move(steps)},
          {"attention", std::move(attention)},
          {"start", std::move(start)},
          {"channels", inspection.channels}};
}

view::Figure caption_page(const CaptionInspection& inspection) {
  check(!inspection.attention.empty(), "look: this model has no attention to show; it wrote \"{}\"", inspection.text);
  view::CaptionAttention page{.image = inspection.seen,
                              .caption = inspection.text,
                              .words = inspection.tokens,
                              .rows = static_cast<std::size_t>(inspection.grid.h),
                              .columns = static_cast<std::size_t>(inspection.grid.w)};
  for (std::size_t i = 0; i < inspection.tokens.size(); ++i) {
    const std::vector<float> looks = inspection.looks(i);
    page.weights.insert(page.weights.end(), looks.begin(), looks.end());
  }
  return view::caption_figure(view::joined_words(std::move(page)));
}

}  // namespace attend::look
