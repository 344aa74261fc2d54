// The Transformer's decoder one token at a time: cached keys and values, memory projected once.
#pragma once

#include <vector>

#include "attend/models/transformer.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::models {

class TransformerDecoder : public nn::StepModel {
 public:
  // Encodes the sources [B, S] now; `group` rows will be decoded for each.
  TransformerDecoder(const Transformer& model, const Tensor& positions, Pass& pass, const Tensor& source,
                     const Tensor& source_lengths, std::int64_t group);

  std::int64_t vocabulary() const override { return model_.config().vocabulary; }
  std::span<const float> step(std::span<const std::int32_t> tokens) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  Tensor ints(const Shape& shape, std::int32_t value) const;

  const Transformer& model_;
  Tensor positions_;
  Pass& pass_;
  Tensor source_lengths_;
  std::int64_t group_, rows_, length_ = 0;
  std::vector<DecoderLayer::Cache> caches_;
  std::vector<float> logits_;
};

}  // namespace attend::models
