// Step-by-step generation with a recurrent language model (text_rnn.h): one token per row and step. A row is its state,
// [rows, C] per layer, so a step costs the same however long the text is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/models/text_rnn.h"
#include "attend/nn/batch_model.h"
#include "attend/nn/step_model.h"
#include "attend/nn/step_rows.h"
#include "attend/tensor/pass.h"

namespace attend::models {

// For a search: all rows continue prompts of one length.
class RnnTextDecoder : public nn::StepModel {
 public:
  // prompts i32 [B, T]; `group` rows continue each of them.
  RnnTextDecoder(const TextRnn& model, Pass& pass, const Tensor& prompts, std::int64_t group);

  std::int64_t vocabulary() const override { return model_.config().vocabulary; }
  std::int64_t suppress(std::span<const std::int32_t> ids) override { return rows_.suppress(ids, vocabulary()); }
  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  Tensor read_prompts();  // -> logits [rows, V]

  const TextRnn& model_;
  Tensor prompts_;  // undefined after the first step
  nn::StepRows rows_;
  TextRnn::State state_;
};

// For continuous batching: texts enter and leave rows at any step.
class RnnTextBatch : public nn::BatchModel {
 public:
  RnnTextBatch(const TextRnn& model, Backend& backend, std::int64_t rows);

  std::int64_t vocabulary() const override { return model_.config().vocabulary; }
  std::int64_t rows() const override { return rows_.count(); }
  std::int64_t suppress(std::span<const std::int32_t> ids) override { return rows_.suppress(ids, vocabulary()); }
  nn::StepModel::Scores enter(std::span<const Prompt> prompts, const nn::StepModel::Wanted& wanted) override;
  void leave(std::int64_t) override {}  // the row is computed until another text enters it
  nn::StepModel::Scores step(const Step& step) override;
  bool missed(std::int64_t) const override { return false; }  // a step ends before the next text enters

 private:
  const TextRnn& model_;
  Pass pass_;
  nn::StepRows rows_;
  TextRnn::State state_;  // of all rows
};

}  // namespace attend::models
