// Guesses of a smaller model with the same tokens. It chooses each token by the rules and random numbers of the large
// model. Where the two distributions agree, so do the tokens.
#pragma once

#include <vector>

#include "attend/decode/drafter.h"
#include "attend/decode/sample.h"
#include "attend/decode/sampler.h"
#include "attend/nn/text_model.h"

namespace attend::decode {

class DraftModel : public Drafter {
 public:
  // The options are those of the large model, but for tokens that are suppressed.
  DraftModel(nn::TextModel& model, const SampleOptions& options);

  // None if the text has no room in the draft model.
  Guess guess(std::span<const std::int32_t> text, std::size_t most) override;
  std::span<const double> kinds() const override { return kShares; }
  bool is_free() const override { return false; }

 private:
  // Reads what the model has not read of the text, and chooses the next token.
  std::int32_t next(std::span<const std::int32_t> text);

  static constexpr double kShares[] = {0.7};
  nn::TextModel& model_;
  SampleOptions options_;
  Sampler sampler_;
  std::vector<std::int32_t> read_;  // by the model
};

}  // namespace attend::decode
