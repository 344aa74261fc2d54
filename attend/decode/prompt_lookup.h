// Guesses from the text itself: what followed the last time the newest tokens occurred (Yang et al. 2023, "Inference
// with Reference"; Saxena 2023, "Prompt Lookup Decoding"). Summaries, corrections and code repeat their prompt.
#pragma once

#include <array>

#include "attend/decode/drafter.h"

namespace attend::decode {

class PromptLookup : public Drafter {
 public:
  static constexpr std::size_t kLongest = 4;  // longer matches count as this long

  // The kind is the number of newest tokens that match, less one. Of the longest matches the latest counts.
  Guess guess(std::span<const std::int32_t> text, std::size_t most) override;
  std::span<const double> kinds() const override { return kShares; }
  bool is_free() const override { return true; }

 private:
  static constexpr std::array<double, kLongest> kShares = {0.2, 0.4, 0.6, 0.8};
};

}  // namespace attend::decode
