// The rows of a step-by-step decoder, in groups with one source or prompt each, and the scores it returns to a search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/nn/step_model.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

class StepRows {
 public:
  // Makes groups · group rows. Throws Error for a recording pass, which would keep every step.
  StepRows(Pass& pass, std::int64_t groups, std::int64_t group);

  std::int64_t count() const { return count_; }
  std::int64_t group() const { return group_; }

  // Uploads values as i32 [values.size()].
  Tensor ints(std::span<const std::int32_t> values) const;
  // The same position for every row. Valid until the next call.
  std::span<const std::int32_t> all_at(std::int64_t position);
  // Excludes tokens from the top k and from sampling. Returns how many remain.
  std::int64_t suppress(std::span<const std::int32_t> ids, std::int64_t vocabulary);
  const Tensor& suppressed() const { return suppressed_; }  // u8 [vocabulary]; undefined if none is
  // Call it before a step. Throws Error unless there is one token per row. Releases the scores of the last step, whose
  // memory this step reuses.
  void start(std::span<const std::int32_t> tokens);
  void let_go() { last_logits_ = last_log_sums_ = Tensor(); }
  // Turns logits [rows, V] into scores after a step. On the host they are read in place, from a GPU they are copied.
  StepModel::Scores scores(const Tensor& logits, const StepModel::Wanted& wanted);

  // Row i continues as row from[i]. False if nothing moves; otherwise count() is the new number of rows, and the caller
  // moves its own state.
  bool move(std::span<const std::int32_t> from);
  // The source of each group after a move.
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
