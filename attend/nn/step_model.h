// What a search needs of a model: scores for the next token of every row, one position at a time. Searches know
// nothing else about models, and models nothing about searches.
#pragma once

#include <cstdint>
#include <span>

namespace attend::nn {

class StepModel {
 public:
  virtual ~StepModel() = default;
  virtual std::int64_t vocabulary() const = 0;
  // The logits of what follows each row, [rows, vocabulary], and for each row the logarithm of the sum of their
  // exponentials: log p = logit - log_sum. Valid until the next call.
  struct Scores {
    std::span<const float> logits, log_sums;
  };
  // Feeds the newest token of each row.
  virtual Scores step(std::span<const std::int32_t> tokens) = 0;
  // Row i goes on from what row from[i] had. Rows come in groups, one group a source sentence; a group is kept or
  // dropped whole and its rows only trade places among themselves.
  virtual void reorder(std::span<const std::int32_t> from) = 0;
};

}  // namespace attend::nn
