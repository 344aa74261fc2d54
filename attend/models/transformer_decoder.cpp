#include "attend/models/transformer_decoder.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"

namespace attend::models {

TransformerDecoder::TransformerDecoder(const Transformer& model, Pass& pass, const nn::Sequences& source,
                                       std::int64_t group)
    : model_(model), pass_(pass), rows_(pass, source.ids.dim(0), group), runner_(pass), history_(rows_.count()) {
  check(!source.packed() && source.lengths.defined(), "decoder: sources must be padded, with their lengths");
  const nn::Sequences here = source.in(pass);
  source_lengths_ = here.lengths;
  const Tensor memory = model.encode(model.embed(here, Transformer::Side::source), mask_between(here, here));
  for (const DecoderLayer& layer : model.decoder_layers()) caches_.push_back(layer.start(memory, rows_.count()));
}

Tensor TransformerDecoder::logits(Pass& pass, const nn::StepRunner::Newest& newest) const {
  nn::Residual stream =
      model_.stream(model_.embed({.ids = newest.tokens, .positions = newest.positions}, Transformer::Side::target));
  const Tensor source_lengths = pass.input(source_lengths_);
  for (std::size_t i = 0; i < caches_.size(); ++i) {
    const DecoderLayer::Cache here{caches_[i].self, pass.input(caches_[i].memory)};
    model_.decoder_layers()[i].step(stream, here, newest.places, source_lengths);
  }
  return model_.logits(model_.finish_decoder(stream)).flat_rows();
}

std::int64_t TransformerDecoder::bar(std::span<const std::int32_t> ids) {
  const std::int64_t left = rows_.bar(ids, vocabulary());
  runner_.bar(rows_.barred());
  return left;
}

nn::StepModel::Scores TransformerDecoder::step(std::span<const std::int32_t> tokens, std::int64_t best) {
  rows_.start(tokens);
  check(length_ < model_.max_length(), "decoder: the model has only {} positions", model_.max_length());
  for (DecoderLayer::Cache& cache : caches_)
    if (cache.self.reserve(length_ + 1)) runner_.memory_moved();
  const std::int64_t capacity = caches_.front().self.capacity();
  const Scores scores = runner_.run({.tokens = tokens,
                                     .positions = rows_.all_at(length_),
                                     .capacity = capacity,
                                     .limit = std::min(capacity, model_.max_length()),
                                     .best = best},
                                    [this](Pass& pass, const auto& newest) { return logits(pass, newest); });
  for (DecoderLayer::Cache& cache : caches_) cache.self.advance(1);
  history_.append();
  ++length_;
  return scores;
}

void TransformerDecoder::reorder(std::span<const std::int32_t> from) {
  const std::int64_t before = rows_.count();
  if (!rows_.move(from)) return;
  const nn::RowMoves moves = history_.move(pass_.backend(), from);
  for (DecoderLayer::Cache& cache : caches_)
    if (cache.self.reorder(moves)) runner_.memory_moved();
  if (rows_.count() != before) keep_sources(from);
}

// Sources that are done leave; the others move up.
void TransformerDecoder::keep_sources(std::span<const std::int32_t> from) {
  const std::vector<std::int32_t> lengths = download_ints(source_lengths_), kept = rows_.sources(from);
  std::vector<std::int32_t> left;
  for (std::int32_t source : kept) left.push_back(lengths[static_cast<std::size_t>(source)]);
  const Tensor sources = rows_.ints(kept);
  for (DecoderLayer::Cache& cache : caches_) cache.memory = ops::gather(cache.memory, sources);
  source_lengths_ = rows_.ints(left);
}

}  // namespace attend::models
