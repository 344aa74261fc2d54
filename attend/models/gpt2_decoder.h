// GPT-2 one token at a time: the prompts are read at once, and every step after that costs one token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/models/gpt2.h"
#include "attend/nn/kv_cache.h"
#include "attend/nn/row_history.h"
#include "attend/nn/step_model.h"
#include "attend/nn/step_rows.h"
#include "attend/nn/step_runner.h"
#include "attend/tensor/pass.h"

namespace attend::models {

class GPT2Decoder : public nn::StepModel {
 public:
  // prompts i32 [B, T], all of one length; `group` rows will go on from each. The first step answers what follows the
  // prompts, whatever tokens it is given: a search starts there with a start token, for which the prompts stand.
  // With `tokens` the caches have room for so many more from the start.
  GPT2Decoder(const GPT2& model, Pass& pass, const Tensor& prompts, std::int64_t group, std::int64_t tokens = 0);

  std::int64_t vocabulary() const override { return model_.config().vocabulary; }
  std::int64_t room() const { return model_.config().max_length - length_; }  // for how many more tokens
  std::int64_t bar(std::span<const std::int32_t> ids) override;
  Scores step(std::span<const std::int32_t> tokens, std::int64_t best) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  Tensor read_prompts();                                           // -> logits [R, V]
  Tensor read_tokens(const nn::StepRunner::Newest& newest) const;  // -> logits [R, V]

  const GPT2& model_;
  Pass& pass_;
  Tensor prompts_;  // undefined once they are read
  nn::StepRows rows_;
  nn::StepRunner runner_;
  nn::RowHistory history_;
  std::int64_t length_ = 0;
  std::vector<nn::KvCache> caches_;
};

}  // namespace attend::models
