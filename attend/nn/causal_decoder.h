// Texts that a search goes on with, one token at a time and all at the same position: what is there when they begin is
// read at once, and every step after that costs one token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/nn/causal_model.h"
#include "attend/nn/row_history.h"
#include "attend/nn/step_model.h"
#include "attend/nn/step_rows.h"
#include "attend/nn/step_runner.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

class CausalDecoder : public StepModel {
 public:
  // From nothing: groups · group rows.
  CausalDecoder(const CausalModel& model, Pass& pass, std::int64_t groups, std::int64_t group)
      : CausalDecoder(model, pass, groups, group, 0) {}
  // prompts i32 [B, T], all of one length; `group` rows will go on from each. The first step answers what follows the
  // prompts, whatever tokens it is given: a search starts there with a start token, for which the prompts stand.
  // With `tokens` the caches have room for so many more from the start.
  CausalDecoder(const CausalModel& model, Pass& pass, const Tensor& prompts, std::int64_t group,
                std::int64_t tokens = 0);

  std::int64_t vocabulary() const override { return sizes_.vocabulary; }
  std::int64_t room() const { return sizes_.max_length - length_; }  // for how many more tokens
  const StepRows& rows() const { return rows_; }
  std::int64_t suppress(std::span<const std::int32_t> ids) override;
  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  CausalDecoder(const CausalModel& model, Pass& pass, std::int64_t groups, std::int64_t group, std::int64_t room);
  Tensor read_prompts();  // -> logits [R, V]

  const CausalModel& model_;
  CausalModel::Sizes sizes_;
  Pass& pass_;
  Tensor prompts_;  // undefined once they are read
  StepRows rows_;
  StepRunner runner_;
  RowHistory history_;
  std::int64_t length_ = 0;
  std::vector<CacheRing> rings_;
  std::vector<KvCache> caches_;
};

}  // namespace attend::nn
