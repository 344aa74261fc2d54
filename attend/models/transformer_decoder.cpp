#include "attend/models/transformer_decoder.h"

#include "attend/base/error.h"
#include "attend/ops/embedding.h"

namespace attend::models {

TransformerDecoder::Stack::Stack(const Transformer& model, const Encoded& memory)
    : model_(model), dtype_(memory.states.dtype()), lengths_(memory.places.lengths) {
  check(memory.states.rank() == 3 && memory.states.width() == model.settings().width,
        "decoder: a memory must be padded, [B, S, {}], not {}", model.settings().width, memory.states.shape());
  for (const DecoderLayer& layer : model.decoder_layers()) keys_values_.push_back(layer.keys_values(memory.states));
}

nn::CausalModel::Sizes TransformerDecoder::Stack::sizes() const {
  const TransformerConfig& config = model_.settings();
  return {config.vocabulary, config.max_length, config.decoder_layers, config.width, dtype_};
}

Tensor TransformerDecoder::Stack::states(const nn::Sequences& targets, const nn::Reading& reading) const {
  Pass& pass = *targets.ids.pass();
  std::vector<Tensor> here;
  for (const Tensor& one : keys_values_) here.push_back(pass.input(one));
  const Tensor lengths = lengths_.defined() ? pass.input(lengths_) : lengths_;
  return model_.decode(model_.embed(targets, Transformer::Side::target), {.mask = causal_mask(targets),
                                                                          .memory = {.mask = {.key_lengths = lengths}},
                                                                          .keys_values = here,
                                                                          .reading = reading});
}

void TransformerDecoder::Stack::keep(const nn::StepRows& rows, std::span<const std::int32_t> kept) {
  const Tensor memories = rows.ints(kept);
  for (Tensor& one : keys_values_) one = ops::gather(one, memories);
  if (!lengths_.defined()) return;
  const std::vector<std::int32_t> lengths = download_ints(lengths_);
  std::vector<std::int32_t> left;
  for (std::int32_t memory : kept) left.push_back(lengths[static_cast<std::size_t>(memory)]);
  lengths_ = rows.ints(left);
}

TransformerDecoder::TransformerDecoder(const Transformer& model, Pass& pass, const Encoded& memory, std::int64_t group)
    : stack_(model, memory), decoder_(stack_, pass, memory.states.dim(0), group) {}

void TransformerDecoder::reorder(std::span<const std::int32_t> from) {
  const std::int64_t before = decoder_.rows().count();
  decoder_.reorder(from);
  if (decoder_.rows().count() != before) stack_.keep(decoder_.rows(), decoder_.rows().sources(from));
}

}  // namespace attend::models
