// Beam search: the few best beginnings are kept and continued together (greedy search is a beam of one).
#pragma once

#include <cstdint>
#include <vector>

#include "attend/decode/hypothesis.h"
#include "attend/nn/step_model.h"

namespace attend::decode {

struct BeamOptions {
  std::int64_t beams = 4;
  LengthPenalty penalty = LengthPenalty::wu;
  float alpha = 0.6f;
  std::int32_t start = 1, end = 2;
  std::vector<std::int32_t> banned = {};  // tokens never written (padding)
  std::vector<std::int64_t> max_lengths;  // of each sentence, without start and end
  std::int64_t results = 1;               // n best
};

// For each sentence its best hypotheses, best first. model must have beams rows for each of max_lengths.size()
// sentences. A sentence ends when nothing still open can come before the results it has: stopping early never
// changes them. Equal scores go to what was found first.
std::vector<std::vector<Hypothesis>> beam_search(nn::StepModel& model, const BeamOptions& options);

}  // namespace attend::decode
