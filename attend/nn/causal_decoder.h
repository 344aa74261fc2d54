// Step-by-step decoding of a causal model for a search. All rows are at the same position. Prompts are read at once,
// and every later step costs one token per row.
//   prompts [B, T] -> states [B, T, C];   each step: tokens [B·group] -> logits [B·group, V]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attend/nn/causal_model.h"
#include "attend/nn/row_history.h"
#include "attend/nn/row_table.h"
#include "attend/nn/step_model.h"
#include "attend/nn/step_rows.h"
#include "attend/nn/step_runner.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

class CausalDecoder : public StepModel {
 public:
  // Starts without prompts, with groups · group rows.
  CausalDecoder(const CausalModel& model, Pass& pass, std::int64_t groups, std::int64_t group)
      : CausalDecoder(model, pass, groups, group, 0) {}
  // prompts are i32 [B, T], all of one length; `group` rows continue each of them. The first step returns the scores
  // after the prompts and ignores its tokens, because a search passes a start token there. With `tokens`, the caches
  // have room for that many more tokens from the start.
  CausalDecoder(const CausalModel& model, Pass& pass, const Tensor& prompts, std::int64_t group,
                std::int64_t tokens = 0);

  std::int64_t vocabulary() const override { return sizes_.vocabulary; }
  std::int64_t room() const { return sizes_.max_length - length_; }  // how many more tokens fit
  const StepRows& rows() const { return rows_; }
  std::int64_t suppress(std::span<const std::int32_t> ids) override;
  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override;
  void reorder(std::span<const std::int32_t> from) override;
  bool drops_rows_cheaply() const override;

 private:
  CausalDecoder(const CausalModel& model, Pass& pass, std::int64_t groups, std::int64_t group, std::int64_t room);
  Tensor read_prompts();  // -> logits [R, V]
  bool has_table() const;
  void take_single_step();
  Tensor next(const StepRunner::Newest& newest);  // -> logits [R, V]

  const CausalModel& model_;
  CausalModel::Sizes sizes_;
  Pass& pass_;
  Tensor prompts_;  // undefined after the first step
  StepRows rows_;
  StepRunner runner_;
  RowHistory history_;             // of rows that move in the caches
  std::optional<RowTable> table_;  // of rows that do not
  std::int64_t length_ = 0;
  std::vector<CacheRing> rings_;
  std::vector<KvCache> caches_;
  std::unique_ptr<CausalStep> single_;  // null if there is none
};

}  // namespace attend::nn
