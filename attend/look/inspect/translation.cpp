#include "attend/look/inspect/translation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/look/inspect/candidates.h"
#include "attend/look/inspect/kept_tokens.h"
#include "attend/look/inspect/layer_probe.h"
#include "attend/look/inspect/weights.h"
#include "attend/models/transformer.h"
#include "attend/nn/position.h"
#include "attend/nn/sequences.h"
#include "attend/tasks/token_strings.h"
#include "attend/view/collector.h"

namespace attend::look {

namespace {

constexpr float kAlpha = 0.6f;  // of the length penalty, as the translator has it

nn::Sequences one_sequence(Backend& backend, const std::vector<std::int32_t>& ids,
                           const std::vector<std::int32_t>& positions = {}) {
  const Tensor length = make_tensor(backend, {1}, DType::i32);
  upload(length, std::vector<std::int32_t>{static_cast<std::int32_t>(ids.size())});
  nn::Sequences result{.ids = nn::row_of(backend, ids), .lengths = length};
  if (!positions.empty()) result.positions = nn::row_of(backend, positions);
  return result;
}

// What the decoder reads: the target moved right by one.
std::vector<std::int32_t> shifted(std::int32_t start, const std::vector<std::int32_t>& target) {
  std::vector<std::int32_t> inputs{start};
  if (!target.empty()) inputs.insert(inputs.end(), target.begin(), target.end() - 1);
  return inputs;
}

}  // namespace

TranslationInspector::TranslationInspector(std::unique_ptr<tasks::LoadedTranslator> loaded, Backend& backend)
    : loaded_(std::move(loaded)),
      backend_(backend),
      suppressed_(static_cast<std::size_t>(loaded_->model->vocabulary())) {
  start_ = loaded_->translator.start(), end_ = loaded_->translator.end();
  for (const std::int32_t id : loaded_->translator.suppressed()) suppressed_[static_cast<std::size_t>(id)] = 1;
  anatomy_ = anatomy_of(*loaded_->model);
  card_ = {.kind = "translation",
           .config = loaded_->model->config(),
           .vocabulary = loaded_->model->vocabulary(),
           .parameters = loaded_->parameters.count(),
           .max_tokens = loaded_->model->max_length() - 1,
           .start = std::string(loaded_->tokenizer.id_to_token(start_).value_or(tasks::kStartToken)),
           .example = "I am a student of music."};
  if (const auto* transformer = dynamic_cast<const models::Transformer*>(loaded_->model.get()))
    if (const std::string& positions = transformer->settings().positions;
        models::in_embeddings(models::positions_named(positions, "positions")))
      card_.positions = positions;
}

std::vector<std::int32_t> TranslationInspector::encode(const std::string& text) const {
  check_text(text);
  std::vector<std::int32_t> ids =
      loaded_->tokenizer.encode_ids(without_outer_space(text), {.add_special_tokens = false});
  check(!ids.empty(), "there is no text");
  check(static_cast<std::int64_t>(ids.size()) <= card_.max_tokens, "the text has {} tokens, the model reads only {}",
        ids.size(), card_.max_tokens);
  ids.push_back(end_);
  return ids;
}

TranslationInspector::Source TranslationInspector::prepare(const std::vector<std::int32_t>& ids,
                                                           const Ablation& ablation) const {
  Source source{.ids = {}, .kept = kept_tokens(ids.size(), ablation.masked), .sequences = {}, .longest = 0};
  std::vector<std::int32_t> positions;
  for (const std::size_t i : source.kept) {
    source.ids.push_back(ids[i]);
    positions.push_back(ablation.positions ? static_cast<std::int32_t>(i) : 0);
  }
  source.sequences = one_sequence(backend_, source.ids, positions);
  source.longest = std::min(loaded_->model->max_length(), 2 * (static_cast<std::int64_t>(source.ids.size()) - 1) + 50);
  return source;
}

Inspection TranslationInspector::inspect(const std::string& text, const InspectOptions& options) {
  check(options.beams >= 1 && options.beams <= 16, "beams must be 1 to 16, not {}", options.beams);
  Inspection result;
  result.source_ids = encode(text);
  result.source = labels(result.source_ids, true);
  const Source source = prepare(result.source_ids, options.ablation);
  const WeightEdits edits(loaded_->parameters, options.ablation, anatomy_);
  if (options.prefix)
    walk(source, *options.prefix, options, result);
  else
    search(source, options, result);
  std::span<const std::int32_t> words = result.target_ids;
  if (result.finished) words = words.first(words.size() - 1);
  result.target = tasks::token_strings(loaded_->tokenizer, words);
  if (result.finished) result.target.push_back(fmt::format(" {}", tasks::kEndToken));
  result.text = loaded_->tokenizer.decode(words);
  std::replace_if(
      result.text.begin(), result.text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  look(source, options.ablation.window, result);
  return result;
}

void TranslationInspector::search(const Source& source, const InspectOptions& options, Inspection& result) const {
  decode::Hypothesis best;
  std::vector<decode::BeamNode> tree;
  {
    Pass pass(backend_, {.attention_window = options.ablation.window});
    const auto model = loaded_->model->start(pass, source.sequences, options.beams);
    best = decode::beam_search(*model, {.beams = options.beams,
                                        .alpha = kAlpha,
                                        .start = start_,
                                        .end = end_,
                                        .suppressed = loaded_->translator.suppressed(),
                                        .max_lengths = {source.longest},
                                        .tree = &tree})[0][0];
  }
  for (const decode::BeamNode& node : tree) result.beam.push_back({node, name_of_token(node.token)});
  std::vector<std::int32_t> forced = best.tokens;
  if (best.finished) forced.push_back(end_);
  walk(source, forced, options, result);
  result.target_ids = forced, result.steps.resize(forced.size());  // a sentence that was cut stays cut
  result.finished = best.finished, result.score = best.score;
}

std::string TranslationInspector::name_of_token(std::int32_t id) const {
  return id == end_ ? std::string(tasks::kEndToken) : loaded_->tokenizer.decode(std::span<const std::int32_t>(&id, 1));
}

void TranslationInspector::walk(const Source& source, const std::vector<std::int32_t>& forced,
                                const InspectOptions& options, Inspection& result) const {
  check(static_cast<std::int64_t>(forced.size()) <= source.longest, "the prefix has {} tokens, at most {} are written",
        forced.size(), source.longest);
  for (std::size_t i = 0; i < forced.size(); ++i) {
    const std::int32_t id = forced[i];
    check(id >= 0 && id < loaded_->model->vocabulary() && !suppressed_[static_cast<std::size_t>(id)] &&
              (id != end_ || i + 1 == forced.size()),
          "token {} cannot stand at place {} of a translation", id, i);
  }
  Pass pass(backend_, {.attention_window = options.ablation.window});
  const auto model = loaded_->model->start(pass, source.sequences, 1);
  double sum = 0;
  result.finished = false;
  const auto allowed = [&](std::int32_t id) { return !suppressed_[static_cast<std::size_t>(id)]; };
  const auto name = [&](std::int32_t id) { return name_of_token(id); };
  for (std::int32_t newest = start_;
       static_cast<std::int64_t>(result.steps.size()) < source.longest && !result.finished;) {
    const nn::StepModel::Scores scores = model->step(std::span(&newest, 1));
    const std::size_t at = result.steps.size();
    InspectedStep step{
        .candidates = candidates_of(
            scores.logits,
            {.count = options.candidates, .log_sum = scores.log_sums[0], .allowed = allowed, .name = name})};
    step.chosen = at < forced.size() ? forced[at] : step.candidates.front().id;
    const float log_probability = scores.logits[static_cast<std::size_t>(step.chosen)] - scores.log_sums[0];
    step.probability = std::exp(log_probability), sum += static_cast<double>(log_probability);
    newest = step.chosen, result.finished = newest == end_;
    result.target_ids.push_back(newest);
    result.steps.push_back(std::move(step));
  }
  result.score = static_cast<float>(decode::normalised(sum, result.steps.size(), decode::LengthPenalty::wu, kAlpha));
}

void TranslationInspector::look(const Source& source, std::int64_t window, Inspection& result) const {
  if (anatomy_.attention.empty() || result.target_ids.empty()) return;
  view::Collector collector;
  loaded_->model->show(collector, source.sequences, one_sequence(backend_, shifted(start_, result.target_ids)), window);
  const std::vector<std::size_t> steps = all_of(result.target_ids.size());
  for (const Anatomy::Attention& attention : anatomy_.attention) {
    const bool from = attention.place.stack == "encoder", to = from || attention.place.kind == "cross";
    const std::size_t words = result.source_ids.size();
    result.attention.push_back(spread(attention, collector,
                                      {.rows = from ? source.kept : steps,
                                       .columns = to ? source.kept : steps,
                                       .all_rows = from ? words : steps.size(),
                                       .all_columns = to ? words : steps.size(),
                                       .window = window}));
  }
}

// The tokens of a sentence with the mark that ends it, or of what the decoder reads, with the one that begins it.
std::vector<std::string> TranslationInspector::labels(std::vector<std::int32_t> ids, bool with_end) const {
  ids.erase(with_end ? ids.end() - 1 : ids.begin());
  std::vector<std::string> labels = tasks::token_strings(loaded_->tokenizer, ids);
  labels.insert(with_end ? labels.end() : labels.begin(),
                with_end ? fmt::format(" {}", tasks::kEndToken) : card_.start);
  return labels;
}

view::Trace TranslationInspector::trace(const TraceRequest& request) {
  const models::Seq2Seq& model = *loaded_->model;
  check(anatomy_.has_layers(), "only a Transformer can be walked through step by step");
  const AttentionPlace& place = request.place;
  anatomy_.at(place, request.head);
  const std::vector<std::int32_t> source_ids = encode(request.text);
  const nn::Sequences source{.ids = nn::row_of(backend_, source_ids)};
  const std::vector<std::string> read = labels(source_ids, true);
  if (place.stack == "encoder")
    return trace_layer(anatomy_, request, {read, read}, backend_, [&](Pass& pass) { model.encode(source.in(pass)); });

  check(!request.target.empty() && static_cast<std::int64_t>(request.target.size()) <= model.max_length(),
        "there is no target");
  for (const std::int32_t id : request.target) check(id >= 0 && id < model.vocabulary(), "there is no token {}", id);
  const std::vector<std::int32_t> inputs = shifted(start_, request.target);
  const std::vector<std::string> written = labels(inputs, false);
  Pass reading(backend_);
  const models::Encoded memory = model.encode(source.in(reading));
  const bool self = place.kind == "self";
  return trace_layer(anatomy_, request, {written, self ? written : read, self}, backend_, [&](Pass& pass) {
    model.decode(models::Encoded{pass.input(memory.states)},
                 nn::Sequences{.ids = nn::row_of(backend_, inputs)}.in(pass));
  });
}

// The decoder's token t, which stands behind the start token, decides token t of the target.
Output TranslationInspector::output(const TraceRequest& request) {
  if (request.place.stack == "encoder") return {};
  const std::vector<std::int32_t>& target = request.target;
  check(request.token >= 0 && request.token < static_cast<std::int64_t>(target.size()), "there is no token {}",
        request.token);
  for (const std::int32_t id : target) check(id >= 0 && id < loaded_->model->vocabulary(), "there is no token {}", id);
  const Source source = prepare(encode(request.text), {});
  check(static_cast<std::int64_t>(target.size()) <= source.longest, "the target has {} tokens, at most {} are written",
        target.size(), source.longest);
  Pass pass(backend_);
  const auto model = loaded_->model->start(pass, source.sequences, 1);
  nn::StepModel::Scores scores;
  std::int32_t newest = start_;
  for (std::size_t at = 0; at <= static_cast<std::size_t>(request.token); newest = target[at++])
    scores = model->step(std::span(&newest, 1));
  return output_of(scores.logits,
                   {.count = kOutputWords,
                    .log_sum = scores.log_sums[0],
                    .allowed = [&](std::int32_t id) { return !suppressed_[static_cast<std::size_t>(id)]; },
                    .name = [&](std::int32_t id) { return name_of_token(id); }},
                   anatomy_.family + " logits");
}

EncoderStates TranslationInspector::states(const StatesRequest& request) {
  const std::vector<std::int32_t> ids = encode(request.text);
  const std::vector<std::string> names = labels(ids, true);
  const std::vector<std::size_t> order = order_of(request, ids.size());
  EncoderStates result;
  std::vector<std::int32_t> moved, places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    result.tokens.push_back(names[order[i]]), moved.push_back(ids[order[i]]);
    places.push_back(request.positions ? static_cast<std::int32_t>(i) : 0);
  }
  Pass pass(backend_);
  const models::Encoded read = loaded_->model->encode(one_sequence(backend_, moved, places).in(pass));
  result.width = static_cast<std::size_t>(read.states.width()), result.values = download(read.states);
  if (read.summary.defined()) result.summary = download(read.summary);
  return result;
}

std::vector<std::string> TranslationInspector::answers(std::span<const std::string> lines) {
  std::vector<std::string> result;
  for (const tasks::TranslatedLine& line : loaded_->translator.translate(lines, {.beams = 1, .batch = 64}))
    result.push_back(line.text());
  return result;
}

PositionTable TranslationInspector::positions(std::int64_t rows) const {
  const auto* model = dynamic_cast<const models::Transformer*>(loaded_->model.get());
  if (!model) return {};
  const models::TransformerConfig& config = model->settings();
  rows = std::min(rows, config.max_length);
  if (!models::in_embeddings(models::positions_named(config.positions, "positions"))) return {};
  const std::int64_t columns = config.combination.columns(config.width);
  PositionTable table{static_cast<std::size_t>(columns)};
  if (config.positions == "learned") {
    table.values = loaded_->parameters.read(find_entry(loaded_->parameters, "positions"));
    table.values.resize(static_cast<std::size_t>(rows) * table.width);
  } else {
    const auto order = config.positions == "sinusoidal" ? nn::SinusoidOrder::interleaved : nn::SinusoidOrder::halves;
    table.values = download(nn::sinusoidal_positions(backend_, rows, columns, DType::f32, order));
  }
  return table;
}

}  // namespace attend::look
