// The Transformer's decoder one token at a time: cached keys and values of the targets, and those of the memory
// projected once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/models/transformer.h"
#include "attend/nn/causal_decoder.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::models {

class TransformerDecoder : public nn::StepModel {
 public:
  // A padded memory [B, S, C]; `group` rows will be decoded for each of B.
  TransformerDecoder(const Transformer& model, Pass& pass, const Encoded& memory, std::int64_t group);

  std::int64_t vocabulary() const override { return decoder_.vocabulary(); }
  std::int64_t suppress(std::span<const std::int32_t> ids) override { return decoder_.suppress(ids); }
  Scores step(std::span<const std::int32_t> tokens, std::int64_t top_k) override {
    return decoder_.step(tokens, top_k);
  }
  void reorder(std::span<const std::int32_t> from) override;

 private:
  // The decoder with what it reads.
  class Stack : public nn::CausalModel {
   public:
    Stack(const Transformer& model, const Encoded& memory);
    Sizes sizes() const override;
    Tensor states(const nn::Sequences& targets, const nn::Reading& reading) const override;
    Tensor logits(const Tensor& states) const override { return model_.logits(states); }
    // Memories that are done leave; those that are left move up.
    void keep(const nn::StepRows& rows, std::span<const std::int32_t> kept);

   private:
    const Transformer& model_;
    DType dtype_;
    std::vector<Tensor> keys_values_;  // by layer, [B, S, 2·C]
    Tensor lengths_;                   // i32 [B]; undefined: every memory is full
  };

  Stack stack_;
  nn::CausalDecoder decoder_;
};

}  // namespace attend::models
