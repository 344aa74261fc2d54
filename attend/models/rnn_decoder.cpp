// Step-by-step decoding with the recurrent model: one token per row and step, rows reordered as a beam search asks.
#include "attend/models/rnn_decoder.h"

#include "attend/ops/embedding.h"

namespace attend::models {

RnnDecoder::RnnDecoder(const RnnSeq2Seq& model, Pass& pass, const Encoded& memory, std::int64_t group)
    : model_(model),
      rows_(pass, memory.states.dim(0), group),
      memory_(model.decoder().read(memory)),
      state_(model.decoder().start(memory, group)) {}

nn::StepModel::Scores RnnDecoder::step(std::span<const std::int32_t> tokens, const Wanted& wanted) {
  rows_.start(tokens);
  const std::int64_t group = rows_.group();
  const Tensor embedded = model_.embed(rows_.ints(tokens).reshape({rows_.count() / group, group}));  // [B, group, W]
  return rows_.scores(model_.logits(model_.decoder().step(embedded, memory_, state_)).flat_rows(),
                      wanted);  // [rows, V]
}

void RnnDecoder::reorder(std::span<const std::int32_t> from) {
  const std::int64_t before = rows_.count();
  if (!rows_.move(from)) return;
  const Tensor order = rows_.ints(from);
  for (Tensor* state : {&state_.hidden, &state_.cell})
    if (state->defined()) *state = ops::gather(*state, order);
  if (rows_.count() != before) keep_sources(from);
}

// Drops the sources whose rows are finished, so that later steps compute less.
void RnnDecoder::keep_sources(std::span<const std::int32_t> from) {
  const std::vector<std::int32_t> kept = rows_.sources(from);
  const Tensor sources = rows_.ints(kept);
  for (Tensor* part : {&memory_.keys, &memory_.gates, &memory_.readout})
    if (part->defined()) *part = ops::gather(*part, sources);
  if (!memory_.lengths.defined()) return;
  const std::vector<std::int32_t> lengths = download_ints(memory_.lengths);
  std::vector<std::int32_t> left;
  for (std::int32_t source : kept) left.push_back(lengths[static_cast<std::size_t>(source)]);
  memory_.lengths = rows_.ints(left);
}

}  // namespace attend::models
