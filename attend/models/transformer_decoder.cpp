#include "attend/models/transformer_decoder.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/softmax.h"

namespace attend::models {

TransformerDecoder::TransformerDecoder(const Transformer& model, Pass& pass, const nn::Sequences& source,
                                       std::int64_t group)
    : model_(model),
      pass_(pass),
      group_(group),
      rows_(source.ids.dim(0) * group),
      history_(static_cast<std::size_t>(rows_)) {
  check(!pass.recording(), "decoder: a recording pass would keep every step");
  check(!source.packed() && source.lengths.defined(), "decoder: sources must be padded, with their lengths");
  const nn::Sequences here = source.in(pass);
  source_lengths_ = here.lengths;
  const Tensor memory = model.encode(model.embed(here, Transformer::Side::source), mask_between(here, here));
  for (const DecoderLayer& layer : model.decoder_layers()) caches_.push_back(layer.start(memory, rows_));
}

Tensor TransformerDecoder::ints(std::span<const std::int32_t> values) const {
  Tensor tensor = pass_.tensor({static_cast<std::int64_t>(values.size())}, DType::i32);
  upload(tensor, values);
  return tensor;
}

nn::StepModel::Scores TransformerDecoder::step(std::span<const std::int32_t> tokens) {
  check(static_cast<std::int64_t>(tokens.size()) == rows_, "decoder: {} tokens for {} rows", tokens.size(), rows_);
  check(length_ < model_.max_length(), "decoder: the model has only {} positions", model_.max_length());
  last_logits_ = last_log_sums_ = Tensor();  // this step's take their place in memory
  // Tokens, positions and lengths in one copy to the device.
  std::vector<std::int32_t> words(tokens.begin(), tokens.end());
  words.resize(2 * tokens.size(), static_cast<std::int32_t>(length_));
  words.resize(3 * tokens.size(), static_cast<std::int32_t>(length_ + 1));
  const Tensor all = ints(words);
  const nn::Sequences newest{.ids = all.slice_first(0, rows_).reshape({rows_, 1}),
                             .positions = all.slice_first(rows_, rows_).reshape({rows_, 1})};
  const Tensor lengths = all.slice_first(2 * rows_, rows_);
  nn::Residual stream = model_.stream(model_.embed(newest, Transformer::Side::target));
  for (std::size_t i = 0; i < caches_.size(); ++i)
    model_.decoder_layers()[i].step(stream, caches_[i], lengths, source_lengths_);
  for (std::size_t row = 0; row < history_.size(); ++row) history_[row].push_back(static_cast<std::int32_t>(row));
  ++length_;
  last_logits_ = model_.logits(model_.finish_decoder(stream)).flat_rows();  // [R, V]
  last_log_sums_ = ops::log_sum_exp(last_logits_);
  if (pass_.backend().on_host() && last_logits_.dtype() == DType::f32)
    return {{last_logits_.data<float>(), static_cast<std::size_t>(last_logits_.size())},
            {last_log_sums_.data<float>(), static_cast<std::size_t>(last_log_sums_.size())}};
  logits_ = download(last_logits_), log_sums_ = download(last_log_sums_);
  return {logits_, log_sums_};
}

std::vector<std::int64_t> TransformerDecoder::shared_history(std::span<const std::int32_t> from) const {
  std::vector<std::int64_t> shared;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto &mine = history_[i], &other = history_[static_cast<std::size_t>(from[i])];
    shared.push_back(std::mismatch(mine.begin(), mine.end(), other.begin()).first - mine.begin());
  }
  return shared;
}

void TransformerDecoder::reorder(std::span<const std::int32_t> from) {
  const auto rows = static_cast<std::int64_t>(from.size());
  check(rows % group_ == 0 && rows <= rows_, "decoder: {} rows from {} do not come in groups of {}", rows, rows_,
        group_);
  for (std::int32_t row : from) check(row >= 0 && row < rows_, "decoder: row {} of {}", row, rows_);
  bool moved = rows != rows_;
  for (std::size_t i = 0; i < from.size(); ++i) moved = moved || from[i] != static_cast<std::int32_t>(i);
  if (!moved) return;
  const nn::RowMoves moves(pass_.backend(), from, shared_history(from));
  for (DecoderLayer::Cache& cache : caches_) cache.self.reorder(moves);
  std::vector<std::vector<std::int32_t>> history;
  for (std::int32_t row : from) history.push_back(history_[static_cast<std::size_t>(row)]);
  history_ = std::move(history);
  if (rows != rows_) keep_sources(from);
  rows_ = rows;
}

// Sources that are done leave; the others move up.
void TransformerDecoder::keep_sources(std::span<const std::int32_t> from) {
  const std::vector<std::int32_t> lengths = download_ints(source_lengths_);
  std::vector<std::int32_t> kept, left;
  for (std::size_t i = 0; i < from.size(); i += static_cast<std::size_t>(group_)) {
    kept.push_back(from[i] / static_cast<std::int32_t>(group_));
    left.push_back(lengths[static_cast<std::size_t>(kept.back())]);
  }
  const Tensor sources = ints(kept);
  for (DecoderLayer::Cache& cache : caches_) cache.memory = ops::gather(cache.memory, sources);
  source_lengths_ = ints(left);
}

}  // namespace attend::models
