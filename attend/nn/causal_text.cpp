// One text of a causal model that takes several tokens in one step.
#include "attend/nn/causal_text.h"

#include <numeric>

#include "attend/base/error.h"
#include "attend/nn/sequences.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

bool CausalText::supports(const CausalModel& model, const Backend& backend) {
  const CausalModel::Sizes sizes = model.sizes();
  return cache_rings(sizes).empty() && (backend.on_host() || sizes.packed);
}

CausalText::CausalText(const CausalModel& model, Backend& backend, std::int64_t room)
    : model_(model),
      sizes_(model.sizes()),
      room_(room),
      pass_(backend),
      rows_(pass_, 1, 1),
      caches_(make_caches(backend, sizes_, 1, room)),
      single_(model.single_step(backend, 1)) {
  check(supports(model, backend), "decoder: this model cannot take tokens back on {}", backend.name());
  check(room >= 1 && room <= sizes_.max_length, "decoder: a text of {} tokens, and the model reads 1 to {}", room,
        sizes_.max_length);
}

CausalText::Steps::Steps(const Pass& pass, std::int64_t tokens) : runner(pass) {
  Backend& backend = pass.backend();
  if (tokens == 1 || backend.on_host()) return;
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(tokens + 1));
  key_offsets = make_tensor(backend, {tokens + 1}, DType::i32);
  upload(key_offsets, offsets);
  std::iota(offsets.begin(), offsets.end(), 0);
  query_offsets = make_tensor(backend, {tokens + 1}, DType::i32);
  upload(query_offsets, offsets);
}

CausalText::Steps& CausalText::steps_of(std::size_t tokens) {
  const auto [found, added] = steps_.try_emplace(tokens, pass_, static_cast<std::int64_t>(tokens));
  if (added) found->second.runner.suppress(rows_.suppressed());
  return found->second;
}

std::int64_t CausalText::suppress(std::span<const std::int32_t> ids) {
  const std::int64_t left = rows_.suppress(ids, vocabulary());
  for (auto& [tokens, steps] : steps_) steps.runner.suppress(rows_.suppressed());
  return left;
}

void CausalText::keep(std::int64_t length) {
  check(length >= 1 && length <= length_, "decoder: {} of {} tokens are kept", length, length_);
  length_ = length;
}

void CausalText::check_room(std::int64_t tokens) const {
  check(tokens >= 1 && length_ + tokens <= room_, "decoder: {} tokens after {}, and there is room for {}", tokens,
        length_, room_);
}

Tensor CausalText::prompt_states(std::span<const std::int32_t> tokens) {
  const Tensor ids = pass_.input(row_of(pass_.backend(), tokens));  // [1, T]
  length_ = ids.dim(1);
  return model_.states({.ids = ids}, {.caches = caches_});
}

void CausalText::skip(std::span<const std::int32_t> tokens) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  check_room(count);
  rows_.let_go();
  pass_.begin({});
  if (length_ == 0) {
    prompt_states(tokens);
    return;
  }
  read_behind(model_, pass_, caches_, {.row = 0, .length = length_, .capacity = whole_capacity(caches_, room_)},
              tokens);
  length_ += count;
}

StepModel::Scores CausalText::read_prompt(std::span<const std::int32_t> tokens, const StepModel::Wanted& wanted) {
  const Tensor states = prompt_states(tokens);
  const Tensor last = ops::slice(states, 1, states.dim(1) - 1, 1);  // [1, 1, C]
  return rows_.scores(model_.logits(last.reshape({1, last.width()})), wanted);
}

StepModel::Scores CausalText::read(std::span<const std::int32_t> tokens, const StepModel::Wanted& wanted) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  check_room(count);
  rows_.let_go();
  if (length_ == 0) return read_prompt(tokens, wanted);
  Steps& steps = steps_of(tokens.size());
  positions_.resize(tokens.size());
  std::iota(positions_.begin(), positions_.end(), static_cast<std::int32_t>(length_));
  const StepModel::Scores scores =
      steps.runner.run({.tokens = tokens,
                        .positions = positions_,
                        .capacity = whole_capacity(caches_, room_),
                        .limit = room_,
                        .wanted = wanted,
                        .one_text = true},
                       [this, &steps, count](Pass& pass, StepRunner::Newest newest) {
                         if (steps.query_offsets.defined()) {
                           newest.places.query_offsets = pass.input(steps.query_offsets);
                           newest.places.key_offsets = pass.input(steps.key_offsets);
                         }
                         return next_logits(model_, count == 1 ? single_.get() : nullptr, newest, caches_);
                       });
  length_ += count;
  return scores;
}

}  // namespace attend::nn
