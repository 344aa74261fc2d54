// Step-by-step decoding with the recurrent model (rnn_seq2seq.h): it holds the state of every row, [B·group, H], and
// the sources they read, [B, S, ..].
#pragma once

#include <vector>

#include "attend/models/rnn_seq2seq.h"
#include "attend/nn/step_model.h"
#include "attend/nn/step_rows.h"
#include "attend/tensor/pass.h"

namespace attend::models {

class RnnDecoder : public nn::StepModel {
 public:
  // Decodes `group` rows for each source.
  RnnDecoder(const RnnSeq2Seq& model, Pass& pass, const Encoded& memory, std::int64_t group);

  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  std::int64_t suppress(std::span<const std::int32_t> ids) override { return rows_.suppress(ids, vocabulary()); }
  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  void keep_sources(std::span<const std::int32_t> from);

  const RnnSeq2Seq& model_;
  nn::StepRows rows_;
  RnnDecoderLayer::Memory memory_;  // one entry per source: [B, ..]
  RnnDecoderLayer::State state_;    // one entry per row: [B·group, H]
};

}  // namespace attend::models
