// The interface between searches and models: scores of the next token of every row, one position at a time. Searches
// know nothing else about models, and models know nothing about searches.
#pragma once

#include <cstdint>
#include <span>

#include "attend/tensor/sampling_params.h"

namespace attend::nn {

class StepModel {
 public:
  virtual ~StepModel() = default;
  virtual std::int64_t vocabulary() const = 0;
  // Logits of the next token of each row, and the log of the sum of all exponentials: log p = logit - log_sum. Valid
  // until the next call.
  struct Scores {
    std::span<const float> logits, log_sums;   // [rows, vocabulary] or [rows, top_k], [rows]
    std::span<const std::int32_t> ids = {};    // [rows, top_k]: token ids, most likely first, ties by id
    std::span<const std::int32_t> drawn = {};  // [rows]: sampled tokens, if the model sampled them,
    std::span<const float> drawn_logits = {};  // and their logits; then `logits` holds the top k only
  };
  // What a search wants to know about each row.
  struct Wanted {
    Wanted(std::int64_t likeliest = 0,
           std::span<const SamplingParams> of_rows = {})  // NOLINT: a number says it, mostly
        : top_k(likeliest), draws(of_rows) {}
    std::int64_t top_k;                     // the k most likely tokens that are not suppressed; 0 means all, in order
    std::span<const SamplingParams> draws;  // one per row: the model may sample from tokens that are not suppressed
  };
  // Excludes tokens from the top k and from sampling. Returns how many remain.
  virtual std::int64_t suppress(std::span<const std::int32_t> ids) = 0;
  // Feeds the newest token of each row and returns the scores of the next.
  virtual Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted = {}) = 0;
  // Row i continues from the state of row from[i]. Rows come in groups, one per source. A group is kept or dropped as a
  // whole, and rows move only inside their group.
  virtual void reorder(std::span<const std::int32_t> from) = 0;
  // True if a step of fewer rows costs less at once. On a GPU, dropping rows moves all caches, ends a captured step and
  // makes products of another shape, so a search keeps finished rows until about half of all are.
  virtual bool drops_rows_cheaply() const { return true; }
};

}  // namespace attend::nn
