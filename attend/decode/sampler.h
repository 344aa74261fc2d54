// How one token is chosen from the scores of a row, and what becomes of the text it is added to. sample() does this for
// rows that go on together, sample_texts() for texts that come and go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/decode/hypothesis.h"
#include "attend/decode/sample.h"
#include "attend/nn/step_model.h"
#include "attend/tensor/sampling_params.h"

namespace attend::decode {

// Throws Error where a setting of the draws makes no sense.
void check_draws(const SampleOptions& options);

// The draw of the first token of a text: the same rules for all of it, and number `position` for each next.
SamplingParams draw_for(const SampleOptions& options, std::uint64_t seed, std::uint32_t number, std::uint32_t sample);
// The same for one more token of a search with one text.
SamplingParams draw_at(const SampleOptions& options, std::size_t position);

// What every draw of one search shares.
class Sampler {
 public:
  // `allowed`: how many of the tokens are not suppressed.
  Sampler(const SampleOptions& options, std::int64_t vocabulary, std::int64_t allowed);

  bool greedy() const { return options_.top_k == 1 && options_.repetition_penalty == 1; }  // the likeliest is enough
  // Whether a model may draw: only a penalty must know the text.
  bool model_may_draw() const { return options_.repetition_penalty == 1; }
  // What to ask of a model for rows with these draws, and hand over below.
  nn::StepModel::Wanted wanted(std::span<const SamplingParams> draws) const;

  struct Drawn {
    std::int32_t token;
    double logit;  // before any penalty
  };
  // What a text has already: only a penalty for repeating it looks there.
  struct Text {
    std::span<const std::int32_t> prompt, written;
  };
  // What the model drew for a row, or its likeliest token, or one drawn here from all.
  Drawn operator()(const nn::StepModel::Scores& scores, std::size_t row, const Text& text, const SamplingParams& draw);

 private:
  std::int32_t drawn_from_all(std::span<const float> logits, const Text& text, const SamplingParams& draw);
  void penalise(std::span<const float> logits, const Text& text);

  const SampleOptions& options_;
  std::vector<bool> suppressed_;
  std::vector<float> changed_, weights_;
};

// A text as it is written.
struct Writing {
  Hypothesis hypothesis;
  double sum = 0;  // of log-probabilities
  bool done = false;

  // One more token; stop(written) may end the text there, as finished. When it is done, it gets its score.
  template <class Stop>
  void add(std::int32_t token, double log_probability, std::int64_t longest, const SampleOptions& options, Stop stop) {
    sum += log_probability;
    std::vector<std::int32_t>& written = hypothesis.tokens;
    hypothesis.finished = token == options.end;
    if (token != options.end) {
      written.push_back(token);
      hypothesis.finished = stop(written);
    }
    done = hypothesis.finished || static_cast<std::int64_t>(written.size()) >= longest;
    if (!done) return;
    const std::size_t length = written.size() + (hypothesis.finished ? 1 : 0);
    hypothesis.score = static_cast<float>(normalised(sum, length, options.penalty, options.alpha));
  }
};

}  // namespace attend::decode
