#include "attend/decode/sample.h"

#include <algorithm>
#include <span>

#include "attend/base/error.h"
#include "attend/decode/sampler.h"

namespace attend::decode {

namespace {

struct SampledSentence {
  std::size_t index;
  std::vector<Writing> rows;
};

// One more token for the rows of a sentence that are not done; true when all are. draws: of all rows.
bool advance(SampledSentence& sentence, const nn::StepModel::Scores& scores, std::size_t first_row,
             std::span<const SamplingParams> draws, Sampler& drawer, const SampleOptions& options) {
  const std::size_t index = sentence.index;
  bool all = true;
  for (std::size_t r = 0; r < sentence.rows.size(); ++r) {
    Writing& row = sentence.rows[r];
    if (!row.done) {
      const Sampler::Text text{options.prompt, row.hypothesis.tokens};
      const auto [token, logit] = drawer(scores, first_row + r, text, draws[first_row + r]);
      const double log_probability = logit - static_cast<double>(scores.log_sums[first_row + r]);
      const auto stop = [&](std::span<const std::int32_t> written) {
        return options.stop && options.stop(index, r, written);
      };
      row.add(token, log_probability, options.max_lengths[index], options, stop);
    }
    all = all && row.done;
  }
  return all;
}

std::vector<Hypothesis> sorted_results(std::vector<Writing>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Writing& a, const Writing& b) { return a.hypothesis.score > b.hypothesis.score; });
  std::vector<Hypothesis> results;
  for (Writing& row : rows) results.push_back(std::move(row.hypothesis));
  return results;
}

SamplingParams draw_of(const SampleOptions& options, std::size_t sentence, std::uint32_t sample,
                       std::uint32_t position) {
  const std::uint32_t number =
      options.numbers.empty() ? static_cast<std::uint32_t>(sentence) : options.numbers[sentence];
  SamplingParams draw = draw_for(options, options.seed, number, sample);
  draw.position = position;
  return draw;
}

void check_options(const SampleOptions& options) {
  check(options.samples >= 1, "sample: {} samples of each sentence; at least 1", options.samples);
  check_draws(options);
  check(options.numbers.empty() || options.numbers.size() == options.max_lengths.size(),
        "sample: {} numbers for {} sentences", options.numbers.size(), options.max_lengths.size());
  for (std::int64_t longest : options.max_lengths)
    check(longest >= 1, "sample: a maximum length of {}; it must be at least 1", longest);
}

}  // namespace

std::vector<std::vector<Hypothesis>> sample(nn::StepModel& model, const SampleOptions& options) {
  check_options(options);
  Sampler drawer(options, model.vocabulary(), model.suppress(options.suppressed));
  const auto samples = static_cast<std::size_t>(options.samples);
  std::vector<std::vector<Hypothesis>> results(options.max_lengths.size());
  std::vector<SampledSentence> running;
  for (std::size_t i = 0; i < results.size(); ++i) running.push_back({i, std::vector<Writing>(samples)});
  std::vector<std::int32_t> tokens(running.size() * samples, options.start);
  std::vector<SamplingParams> draws;

  for (std::uint32_t position = 0; !running.empty(); ++position) {
    draws.clear();
    for (const SampledSentence& sentence : running)
      for (std::size_t r = 0; r < samples; ++r)
        draws.push_back(draw_of(options, sentence.index, static_cast<std::uint32_t>(r), position));
    const nn::StepModel::Scores scores = model.step(tokens, drawer.wanted(draws));
    std::vector<SampledSentence> next;
    std::vector<std::int32_t> from;
    tokens.clear();
    for (std::size_t s = 0; s < running.size(); ++s) {
      SampledSentence& sentence = running[s];
      if (advance(sentence, scores, s * samples, draws, drawer, options)) {
        results[sentence.index] = sorted_results(sentence.rows);
        continue;
      }
      // Rows that are done wait for the others of their sentence.
      for (std::size_t r = 0; r < samples; ++r) {
        from.push_back(static_cast<std::int32_t>(s * samples + r));
        tokens.push_back(sentence.rows[r].done ? options.end : sentence.rows[r].hypothesis.tokens.back());
      }
      next.push_back(std::move(sentence));
    }
    running = std::move(next);
    if (!running.empty()) model.reorder(from);
  }
  return results;
}

}  // namespace attend::decode
