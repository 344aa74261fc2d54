#include "attend/decode/sample_texts.h"

#include <algorithm>
#include <optional>

#include "attend/base/error.h"
#include "attend/decode/draw.h"

namespace attend::decode {

namespace {

// Prompts are read together up to about so many tokens: enough to fill a GPU, and no bound on memory.
constexpr std::size_t kTokensAtOnce = 4096;

class Batch {
 public:
  Batch(nn::BatchModel& model, std::span<const Text> texts, const TextsOptions& options)
      : model_(model),
        texts_(texts),
        options_(options),
        drawer_(options.draw, model.vocabulary(), model.suppress(options.draw.suppressed)),
        writings_(texts.size()),
        rows_(static_cast<std::size_t>(model.rows())),
        tokens_(rows_.size()),
        together_(options.together > 0 ? std::min(static_cast<std::size_t>(options.together), rows_.size())
                                       : std::max<std::size_t>(rows_.size() / 16, 1)) {}

  std::vector<Hypothesis> run() {
    while (waiting_ < texts_.size() || busy_ > 0) {
      if (options_.interrupted && options_.interrupted()) break;
      const std::size_t wanted = std::min(together_, texts_.size() - waiting_);
      if (wanted > 0 && rows_.size() - busy_ >= wanted)
        enter();
      else
        step();
    }
    std::vector<Hypothesis> results;
    for (Writing& writing : writings_) results.push_back(std::move(writing.hypothesis));
    return results;
  }

 private:
  void enter() {
    std::vector<nn::BatchModel::Newcomer> newcomers;
    std::size_t together = 0;
    for (std::size_t row = 0; row < rows_.size() && waiting_ < texts_.size(); ++row) {
      if (rows_[row]) continue;
      const std::vector<std::int32_t>& prompt = texts_[waiting_].prompt;
      if (together > 0 && together + prompt.size() > kTokensAtOnce) break;
      together += prompt.size();
      newcomers.push_back({static_cast<std::int64_t>(row), prompt});
      rows_[row] = waiting_++;
      ++busy_;
    }
    const nn::StepModel::Scores scores = model_.enter(newcomers, drawer_.wanted());
    for (std::size_t i = 0; i < newcomers.size(); ++i) write(static_cast<std::size_t>(newcomers[i].row), scores, i);
    tell();
  }

  void step() {
    const nn::StepModel::Scores scores =
        model_.step({.tokens = tokens_, .top_k = drawer_.wanted(), .newcomers_wait = waiting_ < texts_.size()});
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (rows_[row]) write(row, scores, row);
    tell();
  }

  // One more token of the text in a row, from row `from` of the scores.
  void write(std::size_t row, const nn::StepModel::Scores& scores, std::size_t from) {
    const std::size_t index = *rows_[row];
    const Text& text = texts_[index];
    Writing& writing = writings_[index];
    const double u = uniform(text.seed, 0, draw_of(writing.hypothesis.tokens.size(), text.sample));
    const auto [token, logit] = drawer_(scores, from, {text.prompt, writing.hypothesis.tokens}, u);
    writing.add(token, logit - static_cast<double>(scores.log_sums[from]), text.max_length, options_.draw,
                [&](std::span<const std::int32_t> written) { return options_.stop && options_.stop(index, written); });
    tokens_[row] = token;
    ++written_;
    if (!writing.done) return;
    model_.leave(static_cast<std::int64_t>(row));
    rows_[row].reset();
    --busy_;
    if (options_.done) options_.done(index, writing.hypothesis);
  }

  void tell() const {
    if (options_.stepped) options_.stepped(written_);
  }

  nn::BatchModel& model_;
  std::span<const Text> texts_;
  const TextsOptions& options_;
  Drawer drawer_;
  std::vector<Writing> writings_;                 // by text
  std::vector<std::optional<std::size_t>> rows_;  // which text is there
  std::vector<std::int32_t> tokens_;              // the newest of each row
  std::size_t together_;                          // empty rows that are filled
  std::size_t waiting_ = 0, busy_ = 0;            // the first text that has not entered; rows with a text
  std::int64_t written_ = 0;
};

}  // namespace

std::vector<Hypothesis> sample_texts(nn::BatchModel& model, std::span<const Text> texts, const TextsOptions& options) {
  check_draws(options.draw);
  check(model.rows() >= 1, "sample: a batch of {} rows", model.rows());
  for (const Text& text : texts)
    check(text.max_length >= 1 && !text.prompt.empty(), "sample: a text of {} tokens after a prompt of {}",
          text.max_length, text.prompt.size());
  return Batch(model, texts, options).run();
}

}  // namespace attend::decode
