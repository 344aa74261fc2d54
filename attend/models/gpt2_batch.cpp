#include "attend/models/gpt2_batch.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"

namespace attend::models {

GPT2Batch::GPT2Batch(const GPT2& model, Backend& backend, std::int64_t rows, std::int64_t room)
    : model_(model),
      room_(room),
      pass_(backend),
      rows_(pass_, rows, 1),
      runner_(pass_),
      lengths_(static_cast<std::size_t>(rows), kEmpty) {
  const std::int64_t longest = model.config().max_length;
  check(room >= 1 && room <= longest, "gpt2: rows of {} tokens, and the model reads 1 to {}", room, longest);
  check(rows <= INT32_MAX / (2 * room), "gpt2: {} rows of {} tokens are too many to count", rows, room);
  for (std::int64_t i = 0; i < model.config().layers; ++i) {
    caches_.emplace_back(backend, rows, model.config().width, model.token_table().dtype());
    caches_.back().reserve(room);
  }
}

// One after another, without padding.
Tensor GPT2Batch::read_prompts(std::span<const Newcomer> newcomers) {
  std::vector<std::int32_t> ids, positions, slots, offsets = {0}, last;
  std::int64_t longest = 0;
  for (const auto& [row, prompt] : newcomers) {
    const auto length = static_cast<std::int64_t>(prompt.size());
    check(row >= 0 && row < rows(), "gpt2: row {} of {}", row, rows());
    check(length >= 1 && length <= room_, "gpt2: a prompt of {} tokens for rows of {}", length, room_);
    for (std::int64_t i = 0; i < length; ++i) {
      positions.push_back(static_cast<std::int32_t>(i));
      slots.push_back(static_cast<std::int32_t>(row * capacity() + i));
    }
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    offsets.push_back(static_cast<std::int32_t>(ids.size()));
    last.push_back(offsets.back() - 1);
    longest = std::max(longest, length);
    lengths_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(length);
  }
  const nn::Sequences texts{
      .ids = rows_.ints(ids), .offsets = rows_.ints(offsets), .positions = rows_.ints(positions), .longest = longest};
  const Tensor places = rows_.ints(slots);
  const AttentionMask mask = causal_mask(texts);
  nn::Residual stream = model_.stream(model_.embed(texts));  // [tokens, C]
  for (std::size_t i = 0; i < caches_.size(); ++i) model_.blocks()[i].start(stream, mask, caches_[i], places);
  return model_.logits(ops::gather(model_.finish(stream), rows_.ints(last)));
}

Tensor GPT2Batch::read_tokens(const nn::StepRunner::Newest& newest) const {
  Tensor stream = model_.embed({.ids = newest.tokens, .positions = newest.positions});
  for (std::size_t i = 0; i < caches_.size(); ++i) stream = model_.blocks()[i].step(stream, caches_[i], newest.places);
  return model_.logits(model_.norm()(stream)).flat_rows();
}

std::int64_t GPT2Batch::bar(std::span<const std::int32_t> ids) {
  const std::int64_t left = rows_.bar(ids, vocabulary());
  runner_.bar(rows_.barred());
  return left;
}

nn::StepModel::Scores GPT2Batch::enter(std::span<const Newcomer> newcomers, std::int64_t best) {
  rows_.let_go();
  pass_.begin({});
  return rows_.scores(read_prompts(newcomers), best);
}

nn::StepModel::Scores GPT2Batch::step(const Step& step) {
  rows_.start(step.tokens);
  const nn::StepModel::Scores scores = runner_.run({.tokens = step.tokens,
                                                    .positions = lengths_,
                                                    .capacity = capacity(),
                                                    .limit = room_,
                                                    .best = step.best,
                                                    .ahead = !step.newcomers_wait},
                                                   [this](Pass&, const auto& newest) { return read_tokens(newest); });
  for (std::int32_t& length : lengths_)
    if (length != kEmpty) ++length;
  return scores;
}

}  // namespace attend::models
