// What a search hands back, and how sentences of different lengths are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace attend::decode {

// How the sum of log-probabilities of a finished sentence is made comparable between lengths.
//   wu:    sum / ((5 + length) / 6)^alpha      (Wu et al. 2016, used by Vaswani et al. 2017 with alpha 0.6)
//   power: sum / length^alpha                  (as in Hugging Face's generate)
// length counts the end token.
enum class LengthPenalty : std::uint8_t { wu, power };

double normalised(double sum, std::size_t length, LengthPenalty penalty, float alpha);

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // without start and end
  float score = -std::numeric_limits<float>::infinity();
  bool finished = false;  // false: cut at the maximum length
};

}  // namespace attend::decode
