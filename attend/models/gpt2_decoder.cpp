#include "attend/models/gpt2_decoder.h"

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"

namespace attend::models {

GPT2Decoder::GPT2Decoder(const GPT2& model, Pass& pass, const Tensor& prompts, std::int64_t group)
    : model_(model), pass_(pass), rows_(pass, prompts.dim(0), group), history_(rows_.count()) {
  check(prompts.rank() == 2 && prompts.dim(1) >= 1, "gpt2: prompts must be [B, T] with a token at least, not {}",
        prompts.shape());
  prompts_ = pass.input(prompts);
  const Tensor& table = model.token_table();
  for (std::int64_t i = 0; i < model.config().layers; ++i)
    caches_.emplace_back(pass.backend(), rows_.count(), model.config().width, table.dtype());
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

Tensor GPT2Decoder::read_tokens(std::span<const std::int32_t> tokens) {
  const nn::StepRows::Newest newest = rows_.newest(tokens, length_);
  nn::Residual stream = model_.stream(model_.embed({.ids = newest.tokens, .positions = newest.positions}));
  for (std::size_t i = 0; i < caches_.size(); ++i) model_.blocks()[i].step(stream, caches_[i], newest.lengths);
  history_.append();
  ++length_;
  return model_.logits(model_.finish(stream)).flat_rows();
}

nn::StepModel::Scores GPT2Decoder::step(std::span<const std::int32_t> tokens) {
  rows_.start(tokens);
  check(length_ < model_.config().max_length, "gpt2: the model has only {} positions", model_.config().max_length);
  return rows_.scores(prompts_.defined() ? read_prompts() : read_tokens(tokens));
}

void GPT2Decoder::reorder(std::span<const std::int32_t> from) {
  check(!prompts_.defined(), "gpt2: rows can move only once the prompts are read");
  if (!rows_.move(from)) return;
  const nn::RowMoves moves = history_.move(pass_.backend(), from);
  for (nn::KvCache& cache : caches_) cache.reorder(moves);
}

}  // namespace attend::models
