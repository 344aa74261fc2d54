#include "attend/models/rnn_decoder.h"

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/softmax.h"

namespace attend::models {

RnnDecoder::RnnDecoder(const RnnSeq2Seq& model, Pass& pass, const nn::Sequences& source, std::int64_t group)
    : model_(model), pass_(pass), group_(group), rows_(source.ids.dim(0) * group) {
  check(!pass.recording(), "decoder: a recording pass would keep every step");
  check(group >= 1, "decoder: {} rows for each source", group);
  const nn::Sequences here = source.in(pass);
  const nn::BidirectionalRnn::Result encoded = model.encode(here);
  memory_ = model.decoder().read(encoded, here.lengths);
  state_ = model.decoder().start(encoded, group);
}

Tensor RnnDecoder::ints(std::span<const std::int32_t> values) const {
  Tensor tensor = pass_.tensor({static_cast<std::int64_t>(values.size())}, DType::i32);
  upload(tensor, values);
  return tensor;
}

nn::StepModel::Scores RnnDecoder::step(std::span<const std::int32_t> tokens) {
  check(static_cast<std::int64_t>(tokens.size()) == rows_, "decoder: {} tokens for {} rows", tokens.size(), rows_);
  const Tensor embedded = model_.embed(ints(tokens).reshape({rows_ / group_, group_}));        // [B, group, W]
  last_logits_ = model_.logits(model_.decoder().step(embedded, memory_, state_)).flat_rows();  // [rows, V]
  last_log_sums_ = ops::log_sum_exp(last_logits_);
  if (pass_.backend().on_host() && last_logits_.dtype() == DType::f32)
    return {{last_logits_.data<float>(), static_cast<std::size_t>(last_logits_.size())},
            {last_log_sums_.data<float>(), static_cast<std::size_t>(last_log_sums_.size())}};
  logits_ = download(last_logits_), log_sums_ = download(last_log_sums_);
  return {logits_, log_sums_};
}

void RnnDecoder::reorder(std::span<const std::int32_t> from) {
  const auto rows = static_cast<std::int64_t>(from.size());
  check(rows % group_ == 0 && rows <= rows_, "decoder: {} rows from {} do not come in groups of {}", rows, rows_,
        group_);
  bool moved = rows != rows_;
  for (std::size_t i = 0; i < from.size(); ++i) {
    check(from[i] >= 0 && from[i] < rows_, "decoder: row {} of {}", from[i], rows_);
    moved = moved || from[i] != static_cast<std::int32_t>(i);
  }
  if (!moved) return;
  const Tensor order = ints(from);
  for (Tensor* state : {&state_.hidden, &state_.cell})
    if (state->defined()) *state = ops::gather(*state, order);
  if (rows != rows_) keep_sources(from);
  rows_ = rows;
}

// Sources that are done leave; the others move up.
void RnnDecoder::keep_sources(std::span<const std::int32_t> from) {
  std::vector<std::int32_t> kept;
  for (std::size_t i = 0; i < from.size(); i += static_cast<std::size_t>(group_))
    kept.push_back(from[i] / static_cast<std::int32_t>(group_));
  const Tensor sources = ints(kept);
  for (Tensor* part : {&memory_.keys, &memory_.gates, &memory_.readout})
    if (part->defined()) *part = ops::gather(*part, sources);
  if (memory_.lengths.defined()) {
    const std::vector<std::int32_t> lengths = download_ints(memory_.lengths);
    std::vector<std::int32_t> left;
    for (std::int32_t source : kept) left.push_back(lengths[static_cast<std::size_t>(source)]);
    memory_.lengths = ints(left);
  }
}

}  // namespace attend::models
