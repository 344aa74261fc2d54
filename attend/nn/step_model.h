// What a search needs of a model: scores for the next token of every row, one position at a time. Searches know
// nothing else about models, and models nothing about searches.
#pragma once

#include <cstdint>
#include <span>

#include "attend/tensor/sampling_params.h"

namespace attend::nn {

class StepModel {
 public:
  virtual ~StepModel() = default;
  virtual std::int64_t vocabulary() const = 0;
  // The logits of what follows each row, and for each row the logarithm of the sum of the exponentials of all of them:
  // log p = logit - log_sum. Valid until the next call.
  struct Scores {
    std::span<const float> logits, log_sums;  // [rows, vocabulary] or [rows, top_k], [rows]
    std::span<const std::int32_t> ids = {};   // [rows, top_k]: whose logits they are, likeliest first, equal ones by id
    std::span<const std::int32_t> drawn = {};  // [rows]: the tokens that were drawn, where that was asked for and done,
    std::span<const float> drawn_logits = {};  // and their logits; then `logits` are those of the top k alone
  };
  // How much of the scores a search wants to see of each row.
  struct Wanted {
    Wanted(std::int64_t likeliest = 0,
           std::span<const SamplingParams> of_rows = {})  // NOLINT: a number says it, mostly
        : top_k(likeliest), draws(of_rows) {}
    std::int64_t top_k;                     // the likeliest, of those that are not suppressed; 0: all, in order
    std::span<const SamplingParams> draws;  // one a row: the model may draw tokens, of those that are not suppressed
  };
  // Tokens that are not to be among the top k from now on. How many others there are.
  virtual std::int64_t suppress(std::span<const std::int32_t> ids) = 0;
  // Feeds the newest token of each row.
  virtual Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted = {}) = 0;
  // Row i goes on from what row from[i] had. Rows come in groups, one group a source sentence; a group is kept or
  // dropped whole and its rows only trade places among themselves.
  virtual void reorder(std::span<const std::int32_t> from) = 0;
};

}  // namespace attend::nn
