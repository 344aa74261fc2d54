// Sampling with continuous batching (Yu et al. 2022): as many texts at once as the model has rows, and where one ends
// the next begins, instead of waiting for the longest of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attend/decode/sample.h"
#include "attend/nn/batch_model.h"

namespace attend::decode {

struct Text {
  std::vector<std::int32_t> prompt;  // a token at least
  std::int64_t max_length = 1;       // tokens behind it
  std::uint64_t seed = 1;
  std::uint32_t sample = 0;  // which of several of this prompt and seed
};

struct TextsOptions {
  // How a token is chosen: temperature to repetition_penalty; the score, end and suppressed. The rest is the texts'
  // own.
  SampleOptions draw = {};
  // So many rows must be empty before prompts are read into them, if so many wait: reading one costs a GPU about what a
  // step of all rows does. 0: a sixteenth of the rows; 1: at once.
  std::int64_t together = 0;
  // Sees what a text has written after every token; true ends it there, as finished.
  std::function<bool(std::size_t text, std::span<const std::int32_t> written)> stop = {};
  // Hears of every text as it ends, and of every step.
  std::function<void(std::size_t text, const Hypothesis& hypothesis)> done = {};
  std::function<void(std::int64_t tokens)> stepped = {};  // how many all texts have got so far
  // Asked at every step; true: texts that have not ended stay as they are.
  std::function<bool()> interrupted = {};
};

// What sample() gives for each text alone with its seed: who else is in the batch changes nothing, as far as the
// model's numbers for a row do not depend on the others.
std::vector<Hypothesis> sample_texts(nn::BatchModel& model, std::span<const Text> texts, const TextsOptions& options);

}  // namespace attend::decode
