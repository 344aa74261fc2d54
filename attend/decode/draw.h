// How one token is chosen from the scores of a row, and what becomes of the text it is added to. sample() does this for
// rows that go on together, sample_texts() for texts that come and go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/decode/hypothesis.h"
#include "attend/decode/sample.h"
#include "attend/nn/step_model.h"

namespace attend::decode {

// Throws Error where a setting of the draws makes no sense.
void check_draws(const SampleOptions& options);

// [0, 1): number `draw` of a text.
double uniform(std::uint64_t seed, std::uint32_t number, std::uint64_t draw);
// Which of its numbers decides the token at a position of one of several samples.
constexpr std::uint64_t draw_of(std::uint64_t position, std::uint64_t sample) { return position | sample << 32; }

// What every draw of one search shares.
class Drawer {
 public:
  // `allowed`: how many of the tokens are not suppressed.
  Drawer(const SampleOptions& options, std::int64_t vocabulary, std::int64_t allowed);

  // How many of the likeliest of each row to ask the model for; 0: all.
  std::int64_t wanted() const { return wanted_; }

  struct Drawn {
    std::int32_t token;
    double logit;  // before any penalty
  };
  // What a text has already: only a penalty for repeating it looks there.
  struct Text {
    std::span<const std::int32_t> prompt, written;
  };
  // The token at u of the way through the probabilities of a row.
  Drawn operator()(const nn::StepModel::Scores& scores, std::size_t row, const Text& text, double u);

 private:
  void take(std::span<const float> logits, std::span<const std::int32_t> ids);
  void choose_from_all(std::span<const float> logits, const Text& text);
  std::span<const float> penalised(std::span<const float> logits, const Text& text);
  void cut_tail();

  const SampleOptions& options_;
  std::vector<bool> suppressed_;
  std::int64_t wanted_ = 0;
  // What may come next, the likeliest first where only some count.
  std::vector<std::int32_t> ids_;
  std::vector<double> logits_, weights_;
  std::vector<float> changed_;
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
