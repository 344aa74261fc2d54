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
  // Feeds the newest token of each row; returns the logits of what follows, [rows, vocabulary], valid until the next
  // call.
  virtual std::span<const float> step(std::span<const std::int32_t> tokens) = 0;
  // Row i goes on from what row from[i] had. Rows come in groups, one group a source sentence; a group is kept or
  // dropped whole and its rows only trade places among themselves.
  virtual void reorder(std::span<const std::int32_t> from) = 0;
};

}  // namespace attend::nn
