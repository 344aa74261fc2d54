// Sampling: each token is drawn from what the model thinks of it, sharpened by a temperature and cut to the k likeliest
// (Fan et al. 2018, section 5).
#pragma once

#include <cstdint>
#include <vector>

#include "attend/decode/hypothesis.h"
#include "attend/nn/step_model.h"

namespace attend::decode {

struct SampleOptions {
  float temperature = 1;
  std::int64_t top_k = 0;  // 0: all
  std::uint64_t seed = 1;
  std::int64_t samples = 1;  // of each sentence
  LengthPenalty penalty = LengthPenalty::wu;
  float alpha = 0.6f;  // of the scores only: what is drawn does not depend on them
  std::int32_t start = 1, end = 2;
  std::vector<std::int32_t> banned = {};    // tokens never written
  std::vector<std::int64_t> max_lengths;    // of each sentence, without start and end
  std::vector<std::uint32_t> numbers = {};  // of each sentence in the whole text; its place here when empty
};

// For each sentence its samples, best score first (the log-probability at temperature 1, normalised as in beam search).
// model must have `samples` rows for each sentence. The draw for a token is a pure function of the seed, the sentence's
// number, which sample it is and the position: it does not depend on what else is in the batch.
std::vector<std::vector<Hypothesis>> sample(nn::StepModel& model, const SampleOptions& options);

}  // namespace attend::decode
