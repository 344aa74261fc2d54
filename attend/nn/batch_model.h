// The interface that continuous batching needs of a model (Yu et al. 2022): a fixed number of rows. Texts enter and
// leave rows at any step, and each row has its own position.
#pragma once

#include <cstdint>
#include <span>

#include "attend/nn/step_model.h"

namespace attend::nn {

// How a batch reads long prompts: in pieces of so many tokens, of which `kept` prompts are remembered. 0: at once.
struct PromptPieces {
  std::int64_t tokens = 0, kept = 0;
};

class BatchModel {
 public:
  virtual ~BatchModel() = default;
  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t suppress(std::span<const std::int32_t> ids) = 0;  // the same as StepModel::suppress()

  struct Prompt {
    std::int64_t row;
    std::span<const std::int32_t> prompt;  // has at least one token
  };
  // A long prompt may be read piece by piece before it enters, in a place that steps do not touch, so that others get
  // their tokens meanwhile. The scores of enter() do not depend on it.
  struct Prepared {
    bool ready = true;       // enter() has at most a piece to read
    std::int64_t known = 0;  // tokens that have been read, for this prompt or an earlier one
  };
  virtual Prepared prepared(std::span<const std::int32_t> /*prompt*/) { return {}; }
  virtual void read_piece(std::span<const std::int32_t> /*prompt*/) {}  // the next one
  // Reads prompts into rows, which forget their earlier texts. Returns the scores of the token after each prompt, in
  // this order, as StepModel::step() does.
  virtual StepModel::Scores enter(std::span<const Prompt> prompts, const StepModel::Wanted& wanted) = 0;
  // Ends the text of this row; the row is then empty.
  virtual void leave(std::int64_t row) = 0;

  struct Step {
    // The newest token of each row. Empty rows may have any token, and their scores are unused.
    std::span<const std::int32_t> tokens;
    StepModel::Wanted wanted = {};  // what to return for every row
  };
  // Scores of every row up to the last one with a text, or of more rows.
  virtual StepModel::Scores step(const Step& step) = 0;
  // True if the last step has no scores for this row, because its text entered while that step was already running. It
  // gets its next token from a later step.
  virtual bool missed(std::int64_t row) const = 0;
};

}  // namespace attend::nn
