// GPT-2 one token at a time: the prompts are read at once, and every step after that costs one token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/models/gpt2.h"
#include "attend/nn/kv_cache.h"
#include "attend/nn/row_history.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::models {

class GPT2Decoder : public nn::StepModel {
 public:
  // prompts i32 [B, T], all of one length; `group` rows will go on from each. The first step answers what follows the
  // prompts, whatever tokens it is given: a search starts there with a start token, for which the prompts stand.
  GPT2Decoder(const GPT2& model, Pass& pass, const Tensor& prompts, std::int64_t group);

  std::int64_t vocabulary() const override { return model_.config().vocabulary; }
  std::int64_t room() const { return model_.config().max_length - length_; }  // for how many more tokens
  Scores step(std::span<const std::int32_t> tokens) override;
  void reorder(std::span<const std::int32_t> from) override;

 private:
  Tensor ints(std::span<const std::int32_t> values) const;
  Tensor read_prompts();                                     // -> logits [R, V]
  Tensor read_tokens(std::span<const std::int32_t> tokens);  // -> logits [R, V]

  const GPT2& model_;
  Pass& pass_;
  Tensor prompts_;  // undefined once they are read
  std::int64_t group_, rows_, length_ = 0;
  std::vector<nn::KvCache> caches_;
  nn::RowHistory history_;
  Tensor last_logits_, last_log_sums_;    // on the host, their memory is read in place
  std::vector<float> logits_, log_sums_;  // elsewhere they are copied here
};

}  // namespace attend::models
