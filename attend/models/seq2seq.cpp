// The loss and the probing that all sequence-to-sequence models share.
#include "attend/models/seq2seq.h"

#include "attend/ops/arithmetic.h"
#include "attend/ops/consistency.h"

namespace attend::models {

ops::Loss loss_of(const Tensor& states, const nn::Embedding& table, const Tensor& bias, const Tensor& labels,
                  const Seq2SeqLossOptions& options) {
  const ops::CrossEntropyOptions judged = {.smoothing = options.smoothing, .ignore = options.ignore};
  // Without R-Drop, output layer and loss are one op and the logits need not be kept.
  if (options.consistency == 0) return table.loss(states, bias, labels, judged);
  const Tensor logits = table.logits(states, bias);  // [.., V]
  ops::Loss loss = ops::cross_entropy(logits, labels, judged);
  // The paper adds both cross entropies and alpha / 2 times the divergences. The mean over both halves is half of that,
  // hence alpha / 4.
  loss.mean = ops::add(loss.mean, ops::scale(ops::consistency(logits), options.consistency / 4));
  return loss;
}

void Seq2Seq::show(Probe& probe, const nn::Sequences& source, const nn::Sequences& target, std::int64_t window) const {
  Pass pass(source.ids.backend(), {.probe = &probe, .attention_window = window});
  decode(source.in(pass), target.in(pass));
}

}  // namespace attend::models
