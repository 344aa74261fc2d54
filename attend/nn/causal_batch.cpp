#include "attend/nn/causal_batch.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"

namespace attend::nn {

CausalBatch::CausalBatch(const CausalModel& model, Backend& backend, std::int64_t rows, std::int64_t room)
    : model_(model),
      sizes_(model.sizes()),
      room_(room),
      pass_(backend),
      rows_(pass_, rows, 1),
      runner_(pass_),
      lengths_(static_cast<std::size_t>(rows), kEmpty) {
  check(room >= 1 && room <= sizes_.max_length, "decoder: rows of {} tokens, and the model reads 1 to {}", room,
        sizes_.max_length);
  check(rows <= INT32_MAX / (2 * room), "decoder: {} rows of {} tokens are too many to count", rows, room);
  caches_ = make_caches(backend, sizes_, rows, room);
  rings_ = cache_rings(sizes_);
}

// One after another, without padding.
Tensor CausalBatch::read_prompts(std::span<const Newcomer> newcomers) {
  std::vector<std::int32_t> ids, positions, slots, offsets = {0}, last;
  std::vector<std::vector<std::int32_t>> ring_slots(rings_.size());
  const auto rooms = ring_rooms(rings_, caches_);
  std::int64_t longest = 0;
  for (const auto& [row, prompt] : newcomers) {
    const auto length = static_cast<std::int64_t>(prompt.size());
    check(row >= 0 && row < rows(), "decoder: row {} of {}", row, rows());
    check(length >= 1 && length <= room_, "decoder: a prompt of {} tokens for rows of {}", length, room_);
    for (std::int64_t i = 0; i < length; ++i) {
      positions.push_back(static_cast<std::int32_t>(i));
      slots.push_back(static_cast<std::int32_t>(row * capacity() + i));
      for (std::size_t r = 0; r < rooms.size(); ++r) {
        const auto& [ring, room] = rooms[r];
        ring_slots[r].push_back(ring.keeps(i, length) ? static_cast<std::int32_t>(row * room + ring.place(i)) : -1);
      }
    }
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    offsets.push_back(static_cast<std::int32_t>(ids.size()));
    last.push_back(offsets.back() - 1);
    longest = std::max(longest, length);
    lengths_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(length);
  }
  const Sequences texts{
      .ids = rows_.ints(ids), .offsets = rows_.ints(offsets), .positions = rows_.ints(positions), .longest = longest};
  CachePlaces places{.slots = rows_.ints(slots)};
  for (const auto& of_ring : ring_slots) places.ring_slots.push_back(rows_.ints(of_ring));
  const Tensor states = model_.states(texts, {.caches = caches_, .places = std::move(places)});  // [tokens, C]
  return model_.logits(ops::gather(states, rows_.ints(last)));
}

std::int64_t CausalBatch::suppress(std::span<const std::int32_t> ids) {
  const std::int64_t left = rows_.suppress(ids, vocabulary());
  runner_.suppress(rows_.suppressed());
  return left;
}

StepModel::Scores CausalBatch::enter(std::span<const Newcomer> newcomers, std::int64_t top_k) {
  rows_.let_go();
  pass_.begin({});
  return rows_.scores(read_prompts(newcomers), top_k);
}

// On a GPU a step costs about the same for any number of rows, and is captured once.
std::size_t CausalBatch::rows_in_use() const {
  if (!pass_.backend().on_host()) return lengths_.size();
  std::size_t last = lengths_.size();
  while (last > 1 && lengths_[last - 1] == kEmpty) --last;
  return std::min(std::bit_ceil(last), lengths_.size());
}

StepModel::Scores CausalBatch::step(const Step& step) {
  rows_.start(step.tokens);
  const std::size_t rows = rows_in_use();
  if (std::exchange(shown_, rows) != rows) {
    for (KvCache& cache : caches_) cache.show(static_cast<std::int64_t>(rows));
    runner_.memory_moved();
  }
  const auto rings = ring_rooms(rings_, caches_);
  const StepModel::Scores scores =
      runner_.run({.tokens = step.tokens.first(rows),
                   .positions = std::span(lengths_).first(rows),
                   .capacity = capacity(),
                   .limit = room_,
                   .top_k = step.top_k,
                   .ahead = !step.newcomers_wait,
                   .rings = rings},
                  [this](Pass&, const auto& newest) { return next_logits(model_, newest, caches_); });
  for (std::int32_t& length : lengths_)
    if (length != kEmpty) ++length;
  return scores;
}

}  // namespace attend::nn
