// A decoder with a memory (a Transformer's, GPT-2's with cross-attention) one token at a time: cached keys and values
// of what it writes, and those of the memory projected once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/nn/causal_decoder.h"
#include "attend/nn/causal_model.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

// What such a decoder is to whoever runs it.
class MemoryReader {
 public:
  virtual ~MemoryReader() = default;
  virtual CausalModel::Sizes decoder_sizes() const = 0;
  // Of a memory [B, S, C]: what every layer reads of it, [B, S, 2·C] each.
  virtual std::vector<Tensor> keys_values(const Tensor& memory) const = 0;
  // ids -> [.., C].   lengths i32 [B] of the memories, or undefined: every one is full
  virtual Tensor read(const Sequences& targets, std::span<const Tensor> keys_values, const Tensor& lengths,
                      const ForwardOptions& reading) const = 0;
  virtual Tensor logits(const Tensor& states) const = 0;
};

class MemoryDecoder : public StepModel {
 public:
  // A padded memory [B, S, C] with lengths i32 [B] or none; `group` rows will be decoded for each of B.
  MemoryDecoder(const MemoryReader& model, Pass& pass, const Tensor& memory, const Tensor& lengths, std::int64_t group);

  std::int64_t vocabulary() const override { return decoder_.vocabulary(); }
  std::int64_t suppress(std::span<const std::int32_t> ids) override { return decoder_.suppress(ids); }
  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override {
    return decoder_.step(tokens, wanted);
  }
  void reorder(std::span<const std::int32_t> from) override;

 private:
  // The decoder with what it reads.
  class Stack : public CausalModel {
   public:
    Stack(const MemoryReader& model, const Tensor& memory, const Tensor& lengths);
    Sizes sizes() const override;
    Tensor states(const Sequences& targets, const ForwardOptions& reading) const override;
    Tensor logits(const Tensor& states) const override { return model_.logits(states); }
    // Memories that are done leave; those that are left move up.
    void keep(const StepRows& rows, std::span<const std::int32_t> kept);

   private:
    const MemoryReader& model_;
    DType dtype_;
    std::vector<Tensor> keys_values_;  // by layer, [B, S, 2·C]
    Tensor lengths_;                   // i32 [B]; undefined: every memory is full
  };

  Stack stack_;
  CausalDecoder decoder_;
};

}  // namespace attend::nn
