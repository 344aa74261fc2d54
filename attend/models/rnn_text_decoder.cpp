// Step-by-step generation with a recurrent language model.
#include "attend/models/rnn_text_decoder.h"

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::models {

namespace {

// The newest tokens of all rows: ids i32 [rows] -> logits [rows, V].
Tensor next_logits(const TextRnn& model, const Tensor& newest, TextRnn::State& state) {
  const TextRnn::Result read = model.read({.ids = newest.reshape({newest.dim(0), 1})}, state);
  state = read.last;
  return model.logits(read.last.hidden.back());
}

}  // namespace

RnnTextDecoder::RnnTextDecoder(const TextRnn& model, Pass& pass, const Tensor& prompts, std::int64_t group)
    : model_(model), rows_(pass, prompts.dim(0), group) {
  check(prompts.rank() == 2 && prompts.dim(1) >= 1, "decoder: prompts must be [B, T] with a token at least, not {}",
        prompts.shape());
  prompts_ = pass.input(prompts);
}

Tensor RnnTextDecoder::read_prompts() {
  state_ = model_.read({.ids = prompts_}).last;
  prompts_ = Tensor();
  if (rows_.group() > 1) {  // rows of a group start from the same prompt
    std::vector<std::int32_t> sources;
    for (std::int64_t row = 0; row < rows_.count(); ++row)
      sources.push_back(static_cast<std::int32_t>(row / rows_.group()));
    state_ = state_.rows(rows_.ints(sources));
  }
  return model_.logits(state_.hidden.back());  // [rows, V]
}

nn::StepModel::Scores RnnTextDecoder::step(std::span<const std::int32_t> tokens, const Wanted& wanted) {
  rows_.start(tokens);
  const Tensor logits = prompts_.defined() ? read_prompts() : next_logits(model_, rows_.ints(tokens), state_);
  return rows_.scores(logits, wanted);
}

void RnnTextDecoder::reorder(std::span<const std::int32_t> from) {
  check(!prompts_.defined(), "decoder: rows can move only once the prompts are read");
  if (rows_.move(from)) state_ = state_.rows(rows_.ints(from));
}

RnnTextBatch::RnnTextBatch(const TextRnn& model, Backend& backend, std::int64_t rows)
    : model_(model), pass_(backend), rows_(pass_, rows, 1) {
  // A first token in every row gives the state its shape; texts that enter replace it.
  const std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows), 0);
  state_ = model_.read({.ids = rows_.ints(tokens).reshape({rows, 1})}).last;
}

// Reads prompts padded to the longest, [prompts, T], and puts their states into their rows.
nn::StepModel::Scores RnnTextBatch::enter(std::span<const Prompt> prompts, const nn::StepModel::Wanted& wanted) {
  check(!prompts.empty(), "decoder: there is no prompt");
  rows_.let_go();
  std::size_t longest = 1;
  for (const Prompt& prompt : prompts) longest = std::max(longest, prompt.prompt.size());
  std::vector<std::int32_t> ids, lengths, order(static_cast<std::size_t>(rows()));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto& [row, prompt] = prompts[i];
    check(row >= 0 && row < rows(), "decoder: row {} of {}", row, rows());
    check(!prompt.empty(), "decoder: a prompt has at least one token");
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    ids.resize((i + 1) * longest);
    lengths.push_back(static_cast<std::int32_t>(prompt.size()));
    order[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(rows() + static_cast<std::int64_t>(i));
  }
  const auto count = static_cast<std::int64_t>(prompts.size());
  const TextRnn::State entered =
      model_.read({.ids = rows_.ints(ids).reshape({count, -1}), .lengths = rows_.ints(lengths)})
          .last;  // [prompts, C] per layer
  const Tensor from = rows_.ints(order);
  for (std::size_t i = 0; i < state_.hidden.size(); ++i)
    for (auto list : {&TextRnn::State::hidden, &TextRnn::State::cell})
      if (Tensor& state = (state_.*list)[i]; state.defined())
        state = ops::gather(ops::concat({state, (entered.*list)[i]}, 0), from);
  return rows_.scores(model_.logits(entered.hidden.back()), wanted);
}

nn::StepModel::Scores RnnTextBatch::step(const Step& step) {
  rows_.start(step.tokens);
  return rows_.scores(next_logits(model_, rows_.ints(step.tokens), state_), step.wanted);
}

}  // namespace attend::models
