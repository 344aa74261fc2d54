// The interface that speculative decoding needs of a model (Leviathan et al. 2023): one text that takes several tokens
// in one step, and from which tokens can be taken back.
#pragma once

#include <cstdint>
#include <span>

#include "attend/nn/step_model.h"

namespace attend::nn {

class TextModel {
 public:
  virtual ~TextModel() = default;
  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t room() const = 0;                                 // the longest text, in tokens
  virtual std::int64_t length() const = 0;                               // tokens read so far
  virtual std::int64_t suppress(std::span<const std::int32_t> ids) = 0;  // the same as StepModel::suppress()

  // Appends tokens. The first call reads a prompt of any length and returns the scores after its last token. Later
  // calls return the scores after each token, as StepModel::step() does for each row. They are those of a step with
  // one token at a time, bit for bit on the CPU.
  virtual StepModel::Scores read(std::span<const std::int32_t> tokens, const StepModel::Wanted& wanted) = 0;
  // The same without scores, which are most of the cost in a small model.
  virtual void skip(std::span<const std::int32_t> tokens) { read(tokens, StepModel::Wanted(1)); }
  // Takes back all but the first `length` tokens, of which there is at least one.
  virtual void keep(std::int64_t length) = 0;
};

}  // namespace attend::nn
