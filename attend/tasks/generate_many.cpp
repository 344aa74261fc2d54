// Generator::generate_many(): prompts into texts for a batch that is always full, and their results back in order.
#include <algorithm>

#include "attend/base/error.h"
#include "attend/decode/sample_texts.h"
#include "attend/tasks/generator.h"

namespace attend::tasks {

namespace {

// Tells of results in the order of the prompts.
class InOrder {
 public:
  InOrder(std::size_t prompts, std::size_t samples, const ManyOptions& many)
      : samples_(samples), many_(many), results_(prompts) {}

  // True when all samples of the prompt are there, so that it may be told.
  bool add(std::size_t text, const decode::Hypothesis& hypothesis) {
    std::vector<decode::Hypothesis>& results = results_[text / samples_];
    results.resize(samples_);
    results[text % samples_] = hypothesis;
    ended_.resize(results_.size());
    return ++ended_[text / samples_] == samples_;
  }

  template <class Finish>
  void tell(const Finish& finish) {
    for (; told_ < results_.size() && told_ < ended_.size() && ended_[told_] == samples_; ++told_) {
      std::vector<decode::Hypothesis>& results = results_[told_];
      std::stable_sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
      std::vector<Generated> generated;
      for (const decode::Hypothesis& result : results) generated.push_back(finish(result));
      if (many_.on_done) many_.on_done(told_, generated);
      results.clear();
    }
  }

 private:
  std::size_t samples_, told_ = 0;
  const ManyOptions& many_;
  std::vector<std::vector<decode::Hypothesis>> results_;  // by prompt
  std::vector<std::size_t> ended_;                        // samples of each
};

}  // namespace

void Generator::generate_many(std::span<const std::string> prompts, const GenerateOptions& options,
                              const ManyOptions& many) const {
  check(options.max_tokens >= 1, "generate: max-tokens must be at least 1, not {}", options.max_tokens);
  check(options.samples >= 1, "generate: at least 1 sample, not {}", options.samples);
  check(many.batch >= 1 && many.batch <= 1 << 16, "generate: a batch of {} texts; 1 to 65536", many.batch);
  check(options.beams == 0, "generate: beam search takes one prompt at a time");
  check(options.speculate == 0, "generate: speculative decoding takes one prompt at a time");
  const std::int64_t longest = model_->facts().max_length;
  const auto samples = static_cast<std::size_t>(options.samples);
  std::vector<decode::Text> texts;
  std::int64_t room = 1;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<std::int32_t> ids = read_prompt(prompts[i]);
    const auto size = static_cast<std::int64_t>(ids.size()), tokens = std::min(options.max_tokens, longest - size);
    room = std::max(room, size + tokens);
    for (std::size_t r = 0; r < samples; ++r)
      texts.push_back({ids, tokens, options.seed + i, static_cast<std::uint32_t>(r)});
  }
  if (texts.empty()) return;

  const auto rows = std::min(many.batch, static_cast<std::int64_t>(texts.size()));
  const auto batch = model_->batch(backend_, rows, room);
  InOrder results(prompts.size(), samples, many);
  std::int64_t ended = 0;
  const auto ends = [&](std::size_t, std::span<const std::int32_t> written) {
    return !options.stops.empty() && has_stop(written, options.stops);
  };
  const auto done = [&](std::size_t text, const decode::Hypothesis& hypothesis) {
    ++ended;
    if (results.add(text, hypothesis))
      results.tell([&](const decode::Hypothesis& result) { return finished(result, options.stops); });
  };
  decode::sample_texts(*batch, texts,
                       {.draw = decode::greedy_at_zero({.temperature = options.temperature,
                                                        .top_k = options.top_k,
                                                        .top_p = options.top_p,
                                                        .min_p = options.min_p,
                                                        .repetition_penalty = options.repetition_penalty,
                                                        .end = static_cast<std::int32_t>(model_->facts().end),
                                                        .suppressed = meaningless()}),
                        .stop = ends,
                        .done = done,
                        .stepped =
                            [&](std::int64_t tokens) {
                              if (many.on_progress) many.on_progress(ended, tokens);
                            },
                        .interrupted = options.interrupted});
}

}  // namespace attend::tasks
