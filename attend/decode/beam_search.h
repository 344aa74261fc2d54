// Beam search: the few best beginnings are kept and continued together (greedy search is a beam of one).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "attend/nn/step_model.h"

namespace attend::decode {

// How the sum of log-probabilities of a finished sentence is made comparable between lengths.
//   wu:    sum / ((5 + length) / 6)^alpha      (Wu et al. 2016, used by Vaswani et al. 2017 with alpha 0.6)
//   power: sum / length^alpha                  (as in Hugging Face's generate)
enum class LengthPenalty : std::uint8_t { wu, power };

struct BeamOptions {
  std::int64_t beams = 4;
  LengthPenalty penalty = LengthPenalty::wu;
  float alpha = 0.6f;
  std::int32_t start = 1, end = 2;
  std::vector<std::int32_t> banned = {};  // tokens never written (padding)
  std::vector<std::int64_t> max_lengths;  // of each sentence, without start and end
  std::int64_t results = 1;               // n best
};

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // without start and end
  float score = -std::numeric_limits<float>::infinity();
  bool finished = false;  // false: cut at the maximum length
};

// For each sentence its best hypotheses, best first. model must have beams rows for each of max_lengths.size()
// sentences.
std::vector<std::vector<Hypothesis>> beam_search(nn::StepModel& model, const BeamOptions& options);

}  // namespace attend::decode
