// Sampling: each token is drawn from what the model thinks of it, sharpened by a temperature and cut to the likeliest:
// the first k (Fan et al. 2018), as many as hold probability p together (Holtzman et al. 2020), or those that have a
// share of the likeliest one's probability (Nguyen et al. 2024).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attend/decode/hypothesis.h"
#include "attend/nn/step_model.h"

namespace attend::decode {

struct SampleOptions {
  float temperature = 1;
  std::int64_t top_k = 0;  // 0: all; 1: greedy
  float top_p = 1;         // the likeliest that together have this probability, at the temperature
  float min_p = 0;         // those with at least this share of the likeliest one's probability
  // Logits of tokens that stand in the text already are divided by this where positive, multiplied where negative
  // (Keskar et al. 2019).
  float repetition_penalty = 1;
  std::vector<std::int32_t> prompt = {};  // counts as text for that
  std::uint64_t seed = 1;
  std::int64_t samples = 1;  // of each sentence
  LengthPenalty penalty = LengthPenalty::wu;
  float alpha = 0.6f;  // of the scores only: what is drawn does not depend on them
  std::int32_t start = 1, end = 2;
  std::vector<std::int32_t> suppressed = {};   // tokens never written
  std::vector<std::int64_t> max_lengths = {};  // of each sentence, without start and end
  std::vector<std::uint32_t> numbers = {};     // of each sentence in the whole text; its place here when empty
  // Sees what a sample has written after every token; true ends it there, as finished.
  std::function<bool(std::size_t sentence, std::size_t sample, std::span<const std::int32_t> written)> stop = {};
};

// What users mean by a temperature of 0: the likeliest token, always. sample() itself wants one above 0.
SampleOptions greedy_at_zero(SampleOptions options);

// For each sentence its samples, best score first (the log-probability at temperature 1, normalised as in beam search).
// model must have `samples` rows for each sentence. The draw for a token is a pure function of the seed, the sentence's
// number, which sample it is and the position: it does not depend on what else is in the batch.
std::vector<std::vector<Hypothesis>> sample(nn::StepModel& model, const SampleOptions& options);

}  // namespace attend::decode
