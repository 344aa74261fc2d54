// What continuous batching needs of a model (Yu et al. 2022): a fixed number of rows, which texts enter and leave when
// they will, each at a position of its own.
#pragma once

#include <cstdint>
#include <span>

#include "attend/nn/step_model.h"

namespace attend::nn {

class BatchModel {
 public:
  virtual ~BatchModel() = default;
  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t suppress(std::span<const std::int32_t> ids) = 0;  // as StepModel's

  struct Prompt {
    std::int64_t row;
    std::span<const std::int32_t> prompt;  // a token at least
  };
  // Reads prompts into rows, which forget what they had: the scores of what follows each, in this order, as
  // StepModel::step gives them.
  virtual StepModel::Scores enter(std::span<const Prompt> prompts, const StepModel::Wanted& wanted) = 0;
  // The text of this row is at its end; the row is empty.
  virtual void leave(std::int64_t row) = 0;

  struct Step {
    std::span<const std::int32_t> tokens;  // the newest of every row; any for empty ones, whose scores mean nothing
    StepModel::Wanted wanted = {};         // of every row
  };
  // Of every row up to the last that has a text, or of more.
  virtual StepModel::Scores step(const Step& step) = 0;
  // The last step had no answer for this row: its text came when the step was under way already, and gets its next
  // token with a later one.
  virtual bool missed(std::int64_t row) const = 0;
};

}  // namespace attend::nn
