// The Transformer's decoder one token at a time: cached keys and values, memory projected once.
#pragma once

#include <vector>

#include "attend/models/transformer.h"
#include "attend/nn/row_history.h"
#include "attend/nn/step_model.h"
#include "attend/nn/step_rows.h"
#include "attend/nn/step_runner.h"
#include "attend/tensor/pass.h"

namespace attend::models {

class TransformerDecoder : public nn::StepModel {
 public:
  // Encodes the sources (padded) now; `group` rows will be decoded for each.
  TransformerDecoder(const Transformer& model, Pass& pass, const nn::Sequences& source, std::int64_t group);

  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  std::int64_t bar(std::span<const std::int32_t> ids) override;
  Scores step(std::span<const std::int32_t> tokens, std::int64_t best) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  Tensor logits(Pass& pass, const nn::StepRunner::Newest& newest) const;  // -> [R, V]
  void keep_sources(std::span<const std::int32_t> from);

  const Transformer& model_;
  Pass& pass_;
  nn::StepRows rows_;
  nn::StepRunner runner_;
  nn::RowHistory history_;
  Tensor source_lengths_;
  std::int64_t length_ = 0;
  std::vector<DecoderLayer::Cache> caches_;
};

}  // namespace attend::models
