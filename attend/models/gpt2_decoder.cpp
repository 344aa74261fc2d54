#include "attend/models/gpt2_decoder.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"

namespace attend::models {

GPT2Decoder::GPT2Decoder(const GPT2& model, Pass& pass, const Tensor& prompts, std::int64_t group, std::int64_t tokens)
    : model_(model), pass_(pass), rows_(pass, prompts.dim(0), group), runner_(pass), history_(rows_.count()) {
  check(prompts.rank() == 2 && prompts.dim(1) >= 1, "gpt2: prompts must be [B, T] with a token at least, not {}",
        prompts.shape());
  prompts_ = pass.input(prompts);
  const Tensor& table = model.token_table();
  for (std::int64_t i = 0; i < model.config().layers; ++i)
    caches_.emplace_back(pass.backend(), rows_.count(), model.config().width, table.dtype());
  for (nn::KvCache& cache : caches_) cache.reserve(std::min(prompts.dim(1) + tokens, model.config().max_length));
}

Tensor GPT2Decoder::read_prompts() {
  const std::int64_t batch = prompts_.dim(0), length = prompts_.dim(1);
  nn::Residual stream = model_.stream(model_.embed({.ids = prompts_}));
  for (std::size_t i = 0; i < caches_.size(); ++i) model_.blocks()[i].start(stream, caches_[i]);
  history_.start(length, rows_.group());
  length_ = length;
  prompts_ = Tensor();
  const Tensor last = ops::slice(model_.finish(stream), 1, length - 1, 1);   // [B, 1, C]
  const Tensor logits = model_.logits(last.reshape({batch, last.width()}));  // [B, V]
  if (rows_.group() == 1) return logits;
  std::vector<std::int32_t> sources;
  for (std::int64_t row = 0; row < rows_.count(); ++row)
    sources.push_back(static_cast<std::int32_t>(row / rows_.group()));
  return ops::gather(logits, rows_.ints(sources));
}

Tensor GPT2Decoder::read_tokens(const nn::StepRunner::Newest& newest) const {
  Tensor stream = model_.embed({.ids = newest.tokens, .positions = newest.positions});
  for (std::size_t i = 0; i < caches_.size(); ++i) stream = model_.blocks()[i].step(stream, caches_[i], newest.places);
  return model_.logits(model_.norm()(stream)).flat_rows();
}

std::int64_t GPT2Decoder::bar(std::span<const std::int32_t> ids) {
  const std::int64_t left = rows_.bar(ids, vocabulary());
  runner_.bar(rows_.barred());
  return left;
}

nn::StepModel::Scores GPT2Decoder::step(std::span<const std::int32_t> tokens, std::int64_t best) {
  rows_.start(tokens);
  check(length_ < model_.config().max_length, "gpt2: the model has only {} positions", model_.config().max_length);
  if (prompts_.defined()) return rows_.scores(read_prompts(), best);
  for (nn::KvCache& cache : caches_)
    if (cache.reserve(length_ + 1)) runner_.memory_moved();
  // No layers, no caches: then there is room for every position.
  const std::int64_t capacity = caches_.empty() ? model_.config().max_length : caches_.front().capacity();
  const Scores scores = runner_.run({.tokens = tokens,
                                     .positions = rows_.all_at(length_),
                                     .capacity = capacity,
                                     .limit = std::min(capacity, model_.config().max_length),
                                     .best = best},
                                    [this](Pass&, const auto& newest) { return read_tokens(newest); });
  for (nn::KvCache& cache : caches_) cache.advance(1);
  history_.append();
  ++length_;
  return scores;
}

void GPT2Decoder::reorder(std::span<const std::int32_t> from) {
  check(!prompts_.defined(), "gpt2: rows can move only once the prompts are read");
  if (!rows_.move(from)) return;
  const nn::RowMoves moves = history_.move(pass_.backend(), from);
  for (nn::KvCache& cache : caches_)
    if (cache.reorder(moves)) runner_.memory_moved();
}

}  // namespace attend::models
