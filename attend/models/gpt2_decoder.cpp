#include "attend/models/gpt2_decoder.h"

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/ops/softmax.h"

namespace attend::models {

GPT2Decoder::GPT2Decoder(const GPT2& model, Pass& pass, const Tensor& prompts, std::int64_t group)
    : model_(model), pass_(pass), group_(group), rows_(prompts.dim(0) * group), history_(rows_) {
  check(!pass.recording(), "gpt2: a recording pass would keep every step");
  check(prompts.rank() == 2 && prompts.dim(1) >= 1, "gpt2: prompts must be [B, T] with a token at least, not {}",
        prompts.shape());
  prompts_ = pass.input(prompts);
  const Tensor& table = model.token_table();
  for (std::int64_t i = 0; i < model.config().layers; ++i)
    caches_.emplace_back(pass.backend(), rows_, model.config().width, table.dtype());
}

Tensor GPT2Decoder::ints(std::span<const std::int32_t> values) const {
  Tensor tensor = pass_.tensor({static_cast<std::int64_t>(values.size())}, DType::i32);
  upload(tensor, values);
  return tensor;
}

Tensor GPT2Decoder::read_prompts() {
  const std::int64_t batch = prompts_.dim(0), length = prompts_.dim(1);
  nn::Residual stream = model_.stream(model_.embed({.ids = prompts_}));
  for (std::size_t i = 0; i < caches_.size(); ++i) model_.blocks()[i].start(stream, caches_[i]);
  history_.start(length, group_);
  length_ = length;
  prompts_ = Tensor();
  const Tensor last = ops::slice(model_.finish(stream), 1, length - 1, 1);   // [B, 1, C]
  const Tensor logits = model_.logits(last.reshape({batch, last.width()}));  // [B, V]
  if (group_ == 1) return logits;
  std::vector<std::int32_t> sources;
  for (std::int64_t row = 0; row < rows_; ++row) sources.push_back(static_cast<std::int32_t>(row / group_));
  return ops::gather(logits, ints(sources));
}

Tensor GPT2Decoder::read_tokens(std::span<const std::int32_t> tokens) {
  // Tokens, positions and lengths in one copy to the device.
  std::vector<std::int32_t> words(tokens.begin(), tokens.end());
  words.resize(2 * tokens.size(), static_cast<std::int32_t>(length_));
  words.resize(3 * tokens.size(), static_cast<std::int32_t>(length_ + 1));
  const Tensor all = ints(words);
  const nn::Sequences newest{.ids = all.slice_first(0, rows_).reshape({rows_, 1}),
                             .positions = all.slice_first(rows_, rows_).reshape({rows_, 1})};
  const Tensor lengths = all.slice_first(2 * rows_, rows_);
  nn::Residual stream = model_.stream(model_.embed(newest));
  for (std::size_t i = 0; i < caches_.size(); ++i) model_.blocks()[i].step(stream, caches_[i], lengths);
  history_.append();
  ++length_;
  return model_.logits(model_.finish(stream)).flat_rows();
}

nn::StepModel::Scores GPT2Decoder::step(std::span<const std::int32_t> tokens) {
  check(static_cast<std::int64_t>(tokens.size()) == rows_, "gpt2: {} tokens for {} rows", tokens.size(), rows_);
  check(length_ < model_.config().max_length, "gpt2: the model has only {} positions", model_.config().max_length);
  last_logits_ = last_log_sums_ = Tensor();  // this step's take their place in memory
  last_logits_ = prompts_.defined() ? read_prompts() : read_tokens(tokens);
  last_log_sums_ = ops::log_sum_exp(last_logits_);
  if (pass_.backend().on_host() && last_logits_.dtype() == DType::f32)
    return {{last_logits_.data<float>(), static_cast<std::size_t>(last_logits_.size())},
            {last_log_sums_.data<float>(), static_cast<std::size_t>(last_log_sums_.size())}};
  logits_ = download(last_logits_), log_sums_ = download(last_log_sums_);
  return {logits_, log_sums_};
}

void GPT2Decoder::reorder(std::span<const std::int32_t> from) {
  const auto rows = static_cast<std::int64_t>(from.size());
  check(rows % group_ == 0 && rows <= rows_, "gpt2: {} rows from {} do not come in groups of {}", rows, rows_, group_);
  for (std::int32_t row : from) check(row >= 0 && row < rows_, "gpt2: row {} of {}", row, rows_);
  check(!prompts_.defined(), "gpt2: rows can move only once the prompts are read");
  bool moved = rows != rows_;
  for (std::size_t i = 0; i < from.size(); ++i) moved = moved || from[i] != static_cast<std::int32_t>(i);
  if (!moved) return;
  const nn::RowMoves moves = history_.move(pass_.backend(), from);
  for (nn::KvCache& cache : caches_) cache.reorder(moves);
  rows_ = rows;
}

}  // namespace attend::models
