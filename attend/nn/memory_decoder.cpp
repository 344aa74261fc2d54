// Step-by-step decoding of a decoder with a memory: the causal decoder, plus projected keys and values of the memory.
#include "attend/nn/memory_decoder.h"

#include "attend/base/error.h"
#include "attend/ops/embedding.h"

namespace attend::nn {

MemoryDecoder::Stack::Stack(const MemoryReader& model, const Tensor& memory, const Tensor& lengths)
    : model_(model), dtype_(memory.dtype()), lengths_(lengths) {
  const std::int64_t width = model.decoder_sizes().width;
  check(memory.rank() == 3 && memory.width() == width, "decoder: a memory must be padded, [B, S, {}], not {}", width,
        memory.shape());
  keys_values_ = model.keys_values(memory);
}

CausalModel::Sizes MemoryDecoder::Stack::sizes() const {
  Sizes sizes = model_.decoder_sizes();
  sizes.dtype = dtype_;
  return sizes;
}

Tensor MemoryDecoder::Stack::states(const Sequences& targets, const ForwardOptions& reading) const {
  Pass& pass = *targets.ids.pass();
  std::vector<Tensor> here;
  // The memory enters the pass of the step without a copy.
  for (const Tensor& one : keys_values_) here.push_back(pass.input(one));
  return model_.read(targets, here, lengths_.defined() ? pass.input(lengths_) : lengths_, reading);
}

// The kernel reads bf16.
std::unique_ptr<CausalStep> MemoryDecoder::Stack::single_step(Backend& backend, std::int64_t rows) const {
  for (const Tensor& one : keys_values_)
    if (one.dtype() != DType::bf16) return nullptr;
  return model_.single_step(backend, rows);
}

void MemoryDecoder::Stack::keep(const StepRows& rows, std::span<const std::int32_t> kept) {
  const Tensor memories = rows.ints(kept);
  for (Tensor& one : keys_values_) one = ops::gather(one, memories);
  if (!lengths_.defined()) return;
  const std::vector<std::int32_t> lengths = download_ints(lengths_);
  std::vector<std::int32_t> left;
  for (std::int32_t memory : kept) left.push_back(lengths[static_cast<std::size_t>(memory)]);
  lengths_ = rows.ints(left);
}

MemoryDecoder::MemoryDecoder(const MemoryReader& model, Pass& pass, const Tensor& memory, const Tensor& lengths,
                             std::int64_t group)
    : stack_(model, memory, lengths), decoder_(stack_, pass, memory.dim(0), group) {}

void MemoryDecoder::reorder(std::span<const std::int32_t> from) {
  const std::int64_t before = decoder_.rows().count();
  decoder_.reorder(from);
  if (decoder_.rows().count() != before) stack_.keep(decoder_.rows(), decoder_.rows().sources(from));
}

}  // namespace attend::nn
