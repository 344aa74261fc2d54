// The Transformer's decoder one token at a time: cached keys and values, memory projected once.
#pragma once

#include <vector>

#include "attend/models/transformer.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::models {

class TransformerDecoder : public nn::StepModel {
 public:
  // Encodes the sources (padded) now; `group` rows will be decoded for each.
  TransformerDecoder(const Transformer& model, Pass& pass, const nn::Sequences& source, std::int64_t group);

  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  Scores step(std::span<const std::int32_t> tokens) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  Tensor ints(std::span<const std::int32_t> values) const;
  std::vector<std::int64_t> shared_history(std::span<const std::int32_t> from) const;
  void keep_sources(std::span<const std::int32_t> from);

  const Transformer& model_;
  Pass& pass_;
  Tensor source_lengths_;
  std::int64_t group_, rows_, length_ = 0;
  std::vector<DecoderLayer::Cache> caches_;
  // By row, which row wrote each position of its cache: rows that agree at a position agree before it too.
  std::vector<std::vector<std::int32_t>> history_;
  Tensor last_logits_, last_log_sums_;    // on the host, their memory is read in place
  std::vector<float> logits_, log_sums_;  // elsewhere they are copied here
};

}  // namespace attend::models
