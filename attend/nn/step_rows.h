// What every decoder that goes step by step has: rows in groups, one group a source or prompt, and scores to hand to a
// search on the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

class StepRows {
 public:
  // groups · group rows. Throws Error for a recording pass, which would keep every step.
  StepRows(Pass& pass, std::int64_t groups, std::int64_t group);

  std::int64_t count() const { return count_; }
  std::int64_t group() const { return group_; }

  // i32 [values.size()] on the device.
  Tensor ints(std::span<const std::int32_t> values) const;
  // The position of every row, where they all go on together. Valid until the next call.
  std::span<const std::int32_t> all_at(std::int64_t position);
  // Which of so many tokens are never among the top k; how many are left.
  std::int64_t suppress(std::span<const std::int32_t> ids, std::int64_t vocabulary);
  const Tensor& suppressed() const { return suppressed_; }  // u8 [vocabulary]; undefined: none
  // Before a step: one token for each row, or Error. Lets go of the scores of the step before, whose memory this step's
  // take.
  void start(std::span<const std::int32_t> tokens);
  void let_go() { last_logits_ = last_log_sums_ = Tensor(); }
  // After it: logits [rows, V]. On the host they are read where they are, from elsewhere they are copied.
  StepModel::Scores scores(const Tensor& logits, const StepModel::Wanted& wanted);

  // Row i goes on as row from[i]. False when nothing moves; else count() is from's, and the caller moves its state.
  bool move(std::span<const std::int32_t> from);
  // Of rows that moved: the source each group belongs to.
  std::vector<std::int32_t> sources(std::span<const std::int32_t> from) const;

 private:
  void draw(const Tensor& logits, std::span<const SamplingParams> draws);

  Pass& pass_;
  std::int64_t count_, group_;
  Tensor last_logits_, last_log_sums_, suppressed_;
  std::vector<float> logits_, log_sums_, drawn_logits_;
  std::vector<std::int32_t> ids_, positions_, drawn_;
};

}  // namespace attend::nn
