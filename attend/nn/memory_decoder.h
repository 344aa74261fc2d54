// Step-by-step decoding of a decoder with a memory (a Transformer's, or GPT-2's with cross-attention). Keys and values
// of the output are cached; those of the memory are projected once.
//   memory [B, S, C] -> per layer [B, S, 2·C];   each step: tokens [B·group] -> logits [B·group, V]
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attend/nn/causal_decoder.h"
#include "attend/nn/causal_model.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

// The interface of decoders that read a memory.
class MemoryReader {
 public:
  virtual ~MemoryReader() = default;
  virtual CausalModel::Sizes decoder_sizes() const = 0;
  // Keys and values of a memory [B, S, C] for every layer, [B, S, 2·C] each.
  virtual std::vector<Tensor> keys_values(const Tensor& memory) const = 0;
  // target ids -> states [.., C]. lengths i32 [B] are those of the memories; undefined means that none has padding.
  virtual Tensor read(const Sequences& targets, std::span<const Tensor> keys_values, const Tensor& lengths,
                      const ForwardOptions& reading) const = 0;
  virtual Tensor logits(const Tensor& states) const = 0;
  // The table [V, C] if the logits are its products with the states and nothing else; otherwise undefined.
  virtual Tensor output_table() const { return {}; }
  // A step as one kernel, if the device has one for this model and so many rows; and its input, ids -> [.., C].
  virtual std::unique_ptr<CausalStep> single_step(Backend& /*backend*/, std::int64_t /*rows*/) const { return nullptr; }
  virtual Tensor embedded(const Sequences& /*targets*/) const { return {}; }
};

class MemoryDecoder : public StepModel {
 public:
  // memory is padded [B, S, C] with lengths i32 [B], or undefined lengths; `group` rows are decoded for each entry.
  MemoryDecoder(const MemoryReader& model, Pass& pass, const Tensor& memory, const Tensor& lengths, std::int64_t group);

  std::int64_t vocabulary() const override { return decoder_.vocabulary(); }
  std::int64_t suppress(std::span<const std::int32_t> ids) override { return decoder_.suppress(ids); }
  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override {
    return decoder_.step(tokens, wanted);
  }
  void reorder(std::span<const std::int32_t> from) override;
  bool drops_rows_cheaply() const override { return decoder_.drops_rows_cheaply(); }

 private:
  // The decoder together with its memory, as a causal model.
  class Stack : public CausalModel {
   public:
    Stack(const MemoryReader& model, const Tensor& memory, const Tensor& lengths);
    Sizes sizes() const override;
    Tensor states(const Sequences& targets, const ForwardOptions& reading) const override;
    Tensor logits(const Tensor& states) const override { return model_.logits(states); }
    Tensor output_table() const override { return model_.output_table(); }
    std::unique_ptr<CausalStep> single_step(Backend& backend, std::int64_t rows) const override;
    Tensor embedded(const Sequences& targets) const override { return model_.embedded(targets); }
    CausalStep::Memory memory() const override { return {keys_values_, lengths_}; }
    // Drops the memories whose rows are finished.
    void keep(const StepRows& rows, std::span<const std::int32_t> kept);

   private:
    const MemoryReader& model_;
    DType dtype_;
    std::vector<Tensor> keys_values_;  // one per layer, [B, S, 2·C]
    Tensor lengths_;                   // i32 [B]; undefined if no memory has padding
  };

  Stack stack_;
  CausalDecoder decoder_;
};

}  // namespace attend::nn
