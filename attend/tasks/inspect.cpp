#include "attend/tasks/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/unicode.h"
#include "attend/decode/beam_search.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/models/transformer.h"
#include "attend/tasks/inspect_weights.h"
#include "attend/view/collector.h"

namespace attend::tasks {

namespace {

nn::Sequences one_sequence(Backend& backend, const std::vector<std::int32_t>& ids,
                           const std::vector<std::int32_t>& positions = {}) {
  const auto count = static_cast<std::int64_t>(ids.size());
  const auto ints = [&](const Shape& shape, const std::vector<std::int32_t>& values) {
    const Tensor tensor = make_tensor(backend, shape, DType::i32);
    upload(tensor, values);
    return tensor;
  };
  nn::Sequences result{.ids = ints({1, count}, ids), .lengths = ints({1}, {static_cast<std::int32_t>(count)})};
  if (!positions.empty()) result.positions = ints({1, count}, positions);
  return result;
}

// What the decoder reads: the target moved right by one.
std::vector<std::int32_t> shifted(std::int32_t start, const std::vector<std::int32_t>& target) {
  std::vector<std::int32_t> inputs{start};
  if (!target.empty()) inputs.insert(inputs.end(), target.begin(), target.end() - 1);
  return inputs;
}

// Where the kept tokens of a sentence stand in the whole one: weights [H, rows, columns] with zeros put in between.
void spread(SeenAttention& seen, const std::vector<float>& weights, std::span<const std::size_t> rows,
            std::span<const std::size_t> columns) {
  seen.weights.assign(static_cast<std::size_t>(seen.heads) * seen.rows * seen.columns, 0.0f);
  const float* from = weights.data();
  for (std::size_t h = 0; h < static_cast<std::size_t>(seen.heads); ++h)
    for (const std::size_t row : rows)
      for (const std::size_t column : columns) seen.weights[(h * seen.rows + row) * seen.columns + column] = *from++;
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> result(count);
  std::iota(result.begin(), result.end(), std::size_t{0});
  return result;
}

}  // namespace

std::string parameter_prefix(const AttentionPlace& place) {
  return fmt::format("{}.layers.{}.{}", place.stack, place.layer,
                     place.kind == "cross" ? "multihead_attn" : "self_attn");
}

Inspector::Inspector(LoadedTranslator& loaded, Backend& backend)
    : loaded_(loaded), backend_(backend), banned_(static_cast<std::size_t>(loaded.model->vocabulary()), 0) {
  // The translator has checked that these are there.
  start_ = loaded.tokenizer.token_to_id(kStartToken).value();
  end_ = loaded.tokenizer.token_to_id(kEndToken).value();
  for (const std::int32_t id : loaded.translator.banned()) banned_[static_cast<std::size_t>(id)] = 1;
}

std::vector<std::pair<AttentionPlace, std::int64_t>> Inspector::places() const {
  std::vector<std::pair<AttentionPlace, std::int64_t>> result;
  if (const auto* transformer = dynamic_cast<const models::Transformer*>(loaded_.model.get())) {
    const models::TransformerConfig& config = transformer->settings();
    const std::int64_t heads = config.decoder_heads ? config.decoder_heads : config.heads;
    for (std::int64_t i = 0; i < config.encoder_layers; ++i) result.push_back({{"encoder", "self", i}, config.heads});
    for (std::int64_t i = 0; i < config.decoder_layers; ++i) result.push_back({{"decoder", "self", i}, heads});
    for (std::int64_t i = 0; i < config.decoder_layers; ++i) result.push_back({{"decoder", "cross", i}, heads});
  } else if (!loaded_.model->alignment_label().empty()) {
    result.push_back({{"decoder", "cross", 0}, 1});
  }
  return result;
}

std::vector<std::int32_t> Inspector::encode(const std::string& text) const {
  check(!find_invalid_utf8(text), "the text is not UTF-8");
  std::vector<std::int32_t> ids = loaded_.tokenizer.encode_ids(text, {.add_special_tokens = false});
  check(!ids.empty() && text.find_first_not_of(" \t\r\n") != std::string::npos, "there is no text");
  check(static_cast<std::int64_t>(ids.size()) <= max_tokens(), "the text has {} tokens, the model reads only {}",
        ids.size(), max_tokens());
  ids.push_back(end_);
  return ids;
}

Inspector::Source Inspector::prepare(const std::vector<std::int32_t>& ids, const Ablation& ablation) const {
  std::vector<char> masked(ids.size(), 0);
  for (const std::int64_t token : ablation.masked) {
    check(token >= 0 && token < static_cast<std::int64_t>(ids.size()), "there is no source token {}", token);
    masked[static_cast<std::size_t>(token)] = 1;
  }
  Source source;
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (masked[i]) continue;
    source.ids.push_back(ids[i]), source.kept.push_back(i);
    positions.push_back(ablation.positions ? static_cast<std::int32_t>(i) : 0);
  }
  check(!source.ids.empty(), "every source token is masked");
  source.sequences = one_sequence(backend_, source.ids, positions);
  return source;
}

Inspection Inspector::inspect(const std::string& text, const InspectOptions& options) {
  check(options.beams >= 1 && options.beams <= 16, "beams must be 1 to 16, not {}", options.beams);
  Inspection result;
  result.source_ids = encode(text);
  result.source = loaded_.translator.pieces(std::span(result.source_ids).first(result.source_ids.size() - 1));
  result.source.push_back(fmt::format(" {}", kEndToken));
  const Source source = prepare(result.source_ids, options.ablation);
  const WeightEdits edits(loaded_.parameters, options.ablation, places());
  if (options.prefix)
    walk(source, *options.prefix, options, result);
  else
    search(source, options, result);
  std::span<const std::int32_t> words = result.target_ids;
  if (result.finished) words = words.first(words.size() - 1);
  result.target = loaded_.translator.pieces(words);
  if (result.finished) result.target.push_back(fmt::format(" {}", kEndToken));
  result.text = loaded_.tokenizer.decode(words);
  std::replace_if(
      result.text.begin(), result.text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  look(source, result);
  return result;
}

void Inspector::search(const Source& source, const InspectOptions& options, Inspection& result) const {
  Pass pass(backend_);
  const auto model = loaded_.model->start(pass, source.sequences, options.beams);
  // As long as the translator lets it get.
  const std::int64_t longest =
      std::min(loaded_.model->max_length(), 2 * (static_cast<std::int64_t>(source.ids.size()) - 1) + 50);
  const std::vector<std::int32_t>& banned = loaded_.translator.banned();
  const decode::Hypothesis best = decode::beam_search(*model, {.beams = options.beams,
                                                               .alpha = options.alpha,
                                                               .start = start_,
                                                               .end = end_,
                                                               .banned = banned,
                                                               .max_lengths = {longest}})[0][0];
  std::vector<std::int32_t> forced = best.tokens;
  if (best.finished) forced.push_back(end_);
  walk(source, forced, options, result);
  result.target_ids = forced, result.steps.resize(forced.size());  // a sentence that was cut stays cut
  result.finished = best.finished, result.score = best.score;
}

InspectedStep Inspector::step_of(std::span<const float> logits, float log_sum, std::size_t candidates) const {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(logits.size()); ++id)
    if (!banned_[static_cast<std::size_t>(id)]) ids.push_back(id);
  const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(std::min(candidates, ids.size()));
  std::partial_sort(ids.begin(), middle, ids.end(), [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  });
  InspectedStep step;
  for (auto id = ids.begin(); id != middle; ++id) {
    const std::string text =
        *id == end_ ? std::string(kEndToken) : loaded_.tokenizer.decode(std::span<const std::int32_t>(&*id, 1));
    step.candidates.push_back({*id, text, std::exp(logits[static_cast<std::size_t>(*id)] - log_sum)});
  }
  return step;
}

void Inspector::walk(const Source& source, std::vector<std::int32_t> forced, const InspectOptions& options,
                     Inspection& result) const {
  const std::int64_t longest =
      std::min(loaded_.model->max_length(), 2 * (static_cast<std::int64_t>(source.ids.size()) - 1) + 50);
  check(static_cast<std::int64_t>(forced.size()) <= longest, "the prefix has {} tokens, at most {} are written",
        forced.size(), longest);
  for (std::size_t i = 0; i < forced.size(); ++i) {
    const std::int32_t id = forced[i];
    check(id >= 0 && id < loaded_.model->vocabulary() && !banned_[static_cast<std::size_t>(id)] &&
              (id != end_ || i + 1 == forced.size()),
          "token {} cannot stand at place {} of a translation", id, i);
  }
  Pass pass(backend_);
  const auto model = loaded_.model->start(pass, source.sequences, 1);
  double sum = 0;
  result.finished = false;
  for (std::int32_t newest = start_; static_cast<std::int64_t>(result.steps.size()) < longest && !result.finished;) {
    const nn::StepModel::Scores scores = model->step(std::span(&newest, 1));
    InspectedStep step = step_of(scores.logits, scores.log_sums[0], options.candidates);
    const std::size_t at = result.steps.size();
    step.chosen = at < forced.size() ? forced[at] : step.candidates.front().id;
    const float log_probability = scores.logits[static_cast<std::size_t>(step.chosen)] - scores.log_sums[0];
    step.probability = std::exp(log_probability), sum += log_probability;
    newest = step.chosen, result.finished = newest == end_;
    result.target_ids.push_back(newest);
    result.steps.push_back(std::move(step));
  }
  result.score =
      static_cast<float>(decode::normalised(sum, result.steps.size(), decode::LengthPenalty::wu, options.alpha));
}

void Inspector::look(const Source& source, Inspection& result) const {
  const auto places = this->places();
  if (places.empty() || result.target_ids.empty()) return;
  view::Collector collector;
  Pass pass(backend_, {.probe = &collector});
  const nn::Sequences target = one_sequence(backend_, shifted(start_, result.target_ids));
  // The loss is of no interest: any label will do.
  loaded_.model->loss(models::PairBatch{source.sequences, target, target.ids}.in(pass), {});
  const bool rnn = dynamic_cast<const models::RnnSeq2Seq*>(loaded_.model.get()) != nullptr;
  const std::vector<std::size_t> steps = all_of(result.target_ids.size());
  for (const auto& [place, heads] : places) {
    const bool from_source = place.stack == "encoder", to_source = from_source || place.kind == "cross";
    SeenAttention seen{.place = place,
                       .heads = heads,
                       .rows = from_source ? result.source_ids.size() : steps.size(),
                       .columns = to_source ? result.source_ids.size() : steps.size()};
    const view::AttentionWeights& weights =
        collector.at(rnn ? loaded_.model->alignment_label() : parameter_prefix(place));
    spread(seen, weights.values, from_source ? source.kept : steps, to_source ? source.kept : steps);
    result.attention.push_back(std::move(seen));
  }
}

}  // namespace attend::tasks
