#include "attend/train/recipes/translation/translation_task.h"

#include <fmt/core.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/metrics/bleu.h"
#include "attend/metrics/chrf.h"
#include "attend/train/loop/shared_batches.h"
#include "attend/train/recipes/training_examples.h"

namespace attend::train {

TranslationTask::TranslationTask(const Parts& parts, const TranslationTaskOptions& options)
    : parts_(parts),
      options_(options),
      translator_(parts.model, parts.tokenizer, parts.backend, options.start),
      training_batches_(parts.backend),
      validation_batches_(parts.backend),
      batches_(parts.training, batch_options(true)) {
  start_prefetch();
}

data::PairBatchOptions TranslationTask::batch_options(bool shuffle) const {
  const auto id = [&](const char* token) {
    return static_cast<std::int32_t>(parts_.tokenizer.token_to_id(token).value());  // Translator has checked them
  };
  return {.tokens = options_.tokens,
          .packed = parts_.model.takes_packed(),
          .max_length = parts_.model.max_length() - 1,  // start or end takes a place
          .seed = options_.seed,
          .start = translator_.start(),
          .end = id(tasks::kEndToken),
          .pad = id(tasks::kPadToken),
          .shuffle = shuffle};
}

void TranslationTask::start_prefetch() {
  prefetch_.reset();
  position_ = batches_.position();
  prefetch_ = std::make_unique<Prefetch>([this]() -> Prefetch::Entry {
    batches_.skip(shard_.rank);
    data::HostPairBatch batch = batches_.next();
    batches_.skip(shard_.size - 1 - shard_.rank);
    return {std::move(batch), batches_.position()};
  });
}

std::uint64_t TranslationTask::next_batch() {
  auto [batch, after] = prefetch_->next();
  position_ = after;
  tokens_ = batch.source_tokens + batch.target_tokens;
  labels_ = batch.target_tokens;
  batch_ = training_batches_.put(options_.r_drop > 0 ? twice(batch) : batch);
  return batch.key;
}

train::Loss TranslationTask::loss(Pass& pass) {
  return parts_.model
      .loss(batch_.in(pass),
            {.smoothing = options_.label_smoothing, .ignore = data::kIgnoredLabel, .consistency = options_.r_drop})
      .mean;
}

// Makers of batches go ahead: they go back to where the consumer is.
void TranslationTask::take_shard(const data::Shard& shard) {
  prefetch_.reset();
  shard_ = shard;
  batches_.seek(position_);
  start_prefetch();
}

Json TranslationTask::position() const {
  return {{"epoch", position_.epoch}, {"chunk", position_.chunk}, {"batch", position_.batch}};
}

void TranslationTask::seek(const Json& position) {
  const auto number = [&](const char* key) {
    check(position.is_object() && position.contains(key) && position[key].is_number_unsigned(),
          "training: the saved place in the data is damaged");
    return position[key].get<std::uint64_t>();
  };
  prefetch_.reset();
  batches_.seek({number("epoch"), number("chunk"), number("batch")});
  start_prefetch();
}

double TranslationTask::validation_loss(world::World& world) {
  Pass pass(parts_.backend);
  const std::vector<data::HostPairBatch> batches = data::all_batches(parts_.validation, batch_options(false));
  train::SharedBatches shared(world, batches.size(), 2);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (!shared.mine(i)) continue;
    const models::PairBatch here = validation_batches_.put(batches[i]);
    const ops::Loss loss = parts_.model.loss(here.in(pass), {.ignore = data::kIgnoredLabel});
    const std::vector<float> total = download(loss.total);
    const auto tokens = static_cast<double>(total[1]);
    shared.set(i, {static_cast<double>(total[0]) * tokens, tokens});
  }
  const std::vector<double> sums = shared.sums();
  return sums[1] > 0 ? sums[0] / sums[1] : 0;
}

// Of the sample, batches of it shared out.
std::vector<std::string> TranslationTask::greedy_translations(world::World& world) const {
  const std::vector<std::string>& source = parts_.sample.source;
  train::SharedFindings shared(world, source.size());
  const tasks::TranslateOptions greedy{
      .beams = 1, .batch = 128, .only = [&](std::size_t batch) { return shared.mine(batch); }};
  const std::vector<tasks::TranslatedLine> lines = translator_.translate(source, greedy);
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].translations.empty()) shared.set(i, lines[i].text());
  return shared.all();
}

train::Validation TranslationTask::validate(world::World& world) {
  train::Validation result;
  result.loss = validation_loss(world);
  result.json = {{"loss", result.loss}};
  result.text = fmt::format("validation loss {:.4f}", result.loss);
  result.score = -result.loss;
  if (parts_.sample.source.empty()) return result;
  const double bleu = metrics::corpus_bleu(greedy_translations(world), parts_.sample.target).score;
  result.json["bleu"] = bleu;
  result.text += fmt::format("  greedy BLEU {:.2f}", bleu);
  if (options_.select_by_bleu) result.score = bleu;
  return result;
}

std::vector<train::ScoredExample> TranslationTask::scored_examples() {
  const std::vector<std::string> said = greedy_translations(world::alone());
  std::vector<train::ScoredExample> list;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::string& should = parts_.sample.target[i];
    metrics::Chrf chrf;
    chrf.add(said[i], {should});
    constexpr double kBelowRight = 0.999;
    list.push_back({.input = parts_.sample.source[i],
                    .said = said[i],
                    .should = should,
                    .score = said[i] == should ? 1 : std::min(kBelowRight, chrf.score() / 100)});
  }
  return list;
}

train::Validation evaluate_translator(const tasks::Translator& translator, const ValidationText& text) {
  metrics::Bleu bleu;
  metrics::Chrf chrf;
  std::int64_t exact = 0;
  const std::vector<tasks::TranslatedLine> lines = translator.translate(text.source);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bleu.add(lines[i].text(), {text.target[i]}), chrf.add(lines[i].text(), {text.target[i]});
    exact += lines[i].text() == text.target[i];
  }
  const double share = static_cast<double>(exact) / static_cast<double>(lines.size());
  return {
      .score = share,
      .text = fmt::format("{} sentences, {:.1f} % exactly right, BLEU {:.1f}, chrF {:.1f}", lines.size(), 100 * share,
                          bleu.score().score, chrf.score()),
      .json = {
          {"sentences", lines.size()}, {"exact_match", share}, {"bleu", bleu.score().score}, {"chrf", chrf.score()}}};
}

// The first pairs of the validation text that make a legible image.
std::vector<train::Example> TranslationTask::examples(const train::ExampleLimits& limits) {
  constexpr std::int64_t kShortest = 8, kLongest = 20;
  const std::size_t wanted = limits.count;
  std::vector<train::Example> list;
  for (std::int64_t i = 0; i < parts_.validation.pairs() && list.size() < wanted; ++i) {
    const auto [source, target] = parts_.validation.lengths(i);
    const bool fits = std::min(source, target) >= kShortest && std::max(source, target) <= kLongest;
    const bool rest = parts_.validation.pairs() - i <= static_cast<std::int64_t>(wanted - list.size());
    if (!fits && !rest) continue;
    list.push_back(
        pair_example({parts_.model, parts_.tokenizer, parts_.backend, translator_.start(), translator_.suppressed()},
                     parts_.validation.source(i).to_vector(), parts_.validation.target(i).to_vector()));
  }
  return list;
}

}  // namespace attend::train
