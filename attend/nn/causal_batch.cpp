// Continuous batching for causal models: prompts enter rows, and each step adds one token to every row.
#include "attend/nn/causal_batch.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

CausalBatch::CausalBatch(const CausalModel& model, Backend& backend, std::int64_t rows, std::int64_t room,
                         const PromptPieces& pieces)
    : model_(model),
      sizes_(model.sizes()),
      room_(room),
      pass_(backend),
      rows_(pass_, rows, 1),
      runner_(pass_),
      lengths_(static_cast<std::size_t>(rows), kEmpty) {
  check(room >= 1 && room <= sizes_.max_length, "decoder: rows of {} tokens, and the model reads 1 to {}", room,
        sizes_.max_length);
  rings_ = cache_rings(sizes_);
  // A piece goes on behind others as the newest tokens of a text do, which a cache that rolls cannot (CausalText).
  if (pieces.tokens > 0 && pieces.kept > 0 && rings_.empty() && (backend.on_host() || sizes_.packed))
    kept_ = std::make_unique<PromptCache>(pieces.kept, pieces.tokens);
  const std::int64_t all = rows + (kept_ ? pieces.kept : 0);
  check(all <= INT32_MAX / (2 * room), "decoder: {} rows of {} tokens are too many to count", all, room);
  caches_ = make_caches(backend, sizes_, all, room);
  for (KvCache& cache : caches_) cache.show(rows);
  if (rings_.empty()) single_ = model.single_step(backend, rows);
}

Tensor CausalBatch::read_each(std::span<const Prompt> prompts) {
  if (sizes_.packed || prompts.size() < 2) return read_prompts(prompts);
  std::vector<Tensor> logits;
  for (std::size_t i = 0; i < prompts.size(); ++i) logits.push_back(read_prompts(prompts.subspan(i, 1)));
  return ops::concat(logits, 0);
}

Tensor CausalBatch::read_all(std::span<const Prompt> prompts) {
  const auto is_long = [this](const Prompt& prompt) { return kept_ && kept_->kept_of(prompt.prompt.size()) > 0; };
  std::vector<Prompt> at_once;
  std::ranges::copy_if(prompts, std::back_inserter(at_once), std::not_fn(is_long));
  if (at_once.size() == prompts.size()) return read_each(prompts);
  const Tensor first = at_once.empty() ? Tensor() : read_each(at_once);
  std::vector<Tensor> logits;
  std::int64_t next = 0;
  for (const Prompt& prompt : prompts)
    logits.push_back(is_long(prompt) ? read_pieces(prompt) : first.slice_first(next++, 1));
  return logits.size() == 1 ? logits[0] : ops::concat(logits, 0);
}

void CausalBatch::copy_row(std::int64_t from, std::int64_t to, std::int64_t positions) {
  for (const KvCache& cache : caches_) cache.copy_row(from, to, positions);
}

BatchModel::Prepared CausalBatch::prepared(std::span<const std::int32_t> prompt) {
  const std::int64_t whole = kept_ ? kept_->kept_of(prompt.size()) : 0;
  if (whole == 0 || whole >= room_) return {};
  const std::int64_t known = kept_->find(prompt.first(static_cast<std::size_t>(whole))).tokens;
  return {known == whole, known};
}

void CausalBatch::read_piece(std::span<const std::int32_t> prompt) {
  if (prepared(prompt).ready) return;
  rows_.let_go();
  pass_.begin({});
  const auto piece = static_cast<std::size_t>(kept_->piece());
  const std::span<const std::int32_t> whole = prompt.first(static_cast<std::size_t>(kept_->kept_of(prompt.size())));
  const PromptCache::Match match = kept_->find(whole);
  const std::int64_t row = kept_->row_behind(match, whole);
  if (match.tokens > 0 && row != match.row) copy_row(rows() + match.row, rows() + row, match.tokens);
  const auto at = static_cast<std::size_t>(match.tokens);
  read_behind(rows() + row, whole.subspan(at, piece), match.tokens);
  kept_->hold(row, whole.first(at + piece));
}

Tensor CausalBatch::read_pieces(const Prompt& prompt) {
  const auto& [row, tokens] = prompt;
  const auto length = static_cast<std::int64_t>(tokens.size());
  check(row >= 0 && row < rows(), "decoder: row {} of {}", row, rows());
  check(length <= room_, "decoder: a prompt of {} tokens for rows of {}", length, room_);
  const std::int64_t whole = kept_->kept_of(tokens.size());
  const PromptCache::Match match = kept_->find(tokens.first(static_cast<std::size_t>(whole)));
  if (match.tokens > 0) copy_row(rows() + match.row, row, match.tokens);
  Tensor states;
  for (std::int64_t at = match.tokens; at < length; at += kept_->piece())
    states = read_behind(
        row,
        tokens.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(kept_->piece(), length - at))),
        at);
  lengths_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(length);
  return model_.logits(states.slice_first(states.dim(0) - 1, 1));
}

// The first piece of a text reads itself.
Tensor CausalBatch::read_behind(std::int64_t row, std::span<const std::int32_t> tokens, std::int64_t length) {
  if (length == 0) {
    const auto count = static_cast<std::int64_t>(tokens.size());
    const std::vector<std::int32_t> ids(tokens.begin(), tokens.end());
    std::vector<std::int32_t> slots;
    for (std::int64_t i = 0; i < count; ++i) slots.push_back(static_cast<std::int32_t>(row * capacity() + i));
    const std::vector<std::int32_t>* lists[] = {&ids, &slots};
    const std::vector<Tensor> sent = send(lists);
    const Tensor states =
        model_.states({.ids = sent[0].reshape({1, count})}, {.caches = caches_, .places = {.slots = sent[1]}});
    return states.flat_rows();
  }
  const Tensor states = nn::read_behind(model_, pass_, caches_, {row, length, capacity()}, tokens);
  for (KvCache& cache : caches_) cache.show(shown_ > 0 ? static_cast<std::int64_t>(shown_) : rows());
  return states;
}

// Reads prompts packed, [tokens], without padding, and returns logits [prompts, V].
Tensor CausalBatch::read_prompts(std::span<const Prompt> prompts) {
  std::vector<std::int32_t> ids, positions, slots, offsets = {0}, last;
  std::vector<std::vector<std::int32_t>> ring_slots(rings_.size());
  const auto rooms = ring_rooms(rings_, caches_);
  std::int64_t longest = 0;
  for (const auto& [row, prompt] : prompts) {
    const auto length = static_cast<std::int64_t>(prompt.size());
    check(row >= 0 && row < rows(), "decoder: row {} of {}", row, rows());
    check(length >= 1 && length <= room_, "decoder: a prompt of {} tokens for rows of {}", length, room_);
    // Every token gets a slot in the caches of its row; caches of windows keep only the last tokens.
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
  std::vector<const std::vector<std::int32_t>*> lists = {&ids, &offsets, &positions, &last, &slots};
  for (const auto& of_ring : ring_slots) lists.push_back(&of_ring);
  const std::vector<Tensor> sent = send(lists);
  const Sequences texts = sizes_.packed
                              ? Sequences{.ids = sent[0], .offsets = sent[1], .positions = sent[2], .longest = longest}
                              : Sequences{.ids = sent[0].reshape({1, longest})};
  CachePlaces places{.slots = sent[4], .ring_slots = {sent.begin() + 5, sent.end()}};
  const Tensor states = model_.states(texts, {.caches = caches_, .places = std::move(places)});  // [tokens, C]
  return model_.logits(ops::gather(states.flat_rows(), sent[3]));                                // [prompts, V]
}

// Copies all lists in one transfer without waiting. Steps may be running, and the prompts are read after them.
std::vector<Tensor> CausalBatch::send(std::span<const std::vector<std::int32_t>* const> lists) {
  constexpr std::size_t kAligned = 64;
  std::vector<std::size_t> begins;
  if (std::exchange(sending_, true)) pass_.backend().synchronize();  // the lists before have arrived
  sent_.clear();
  for (const auto* list : lists) {
    begins.push_back(sent_.size());
    sent_.insert(sent_.end(), list->begin(), list->end());
    sent_.resize((sent_.size() + kAligned - 1) / kAligned * kAligned);
  }
  const Tensor all = pass_.tensor({static_cast<std::int64_t>(sent_.size())}, DType::i32);
  pass_.backend().to_device_async(all.raw(), sent_.data(), sent_.size() * sizeof(std::int32_t));
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < lists.size(); ++i)
    parts.push_back(all.slice_first(static_cast<std::int64_t>(begins[i]), static_cast<std::int64_t>(lists[i]->size())));
  return parts;
}

std::int64_t CausalBatch::suppress(std::span<const std::int32_t> ids) {
  const std::int64_t left = rows_.suppress(ids, vocabulary());
  runner_.suppress(rows_.suppressed());
  return left;
}

StepModel::Scores CausalBatch::enter(std::span<const Prompt> prompts, const StepModel::Wanted& wanted) {
  rows_.let_go();
  pass_.begin({});
  for (const Prompt& prompt : prompts)
    if (std::ranges::find(entered_, prompt.row) == entered_.end()) entered_.push_back(prompt.row);
  const StepModel::Scores scores = rows_.scores(read_all(prompts), wanted);
  sending_ = false;  // scores are there, and so was all before them
  return scores;
}

// On a GPU a step costs about the same for any number of rows and is captured once, so all rows are computed.
std::size_t CausalBatch::rows_in_use() const {
  if (!pass_.backend().on_host()) return lengths_.size();
  std::size_t last = lengths_.size();
  while (last > 1 && lengths_[last - 1] == kEmpty) --last;
  return std::min(std::bit_ceil(last), lengths_.size());
}

StepModel::Scores CausalBatch::step(const Step& step) {
  rows_.start(step.tokens);
  const std::size_t rows = rows_in_use();
  // A different number of rows needs a new plan of the step.
  if (std::exchange(shown_, rows) != rows) {
    for (KvCache& cache : caches_) cache.show(static_cast<std::int64_t>(rows));
    runner_.memory_moved();
  }
  const auto rings = ring_rooms(rings_, caches_);
  std::erase_if(entered_, [this](std::int64_t row) { return lengths_[static_cast<std::size_t>(row)] == kEmpty; });
  const StepModel::Scores scores =
      runner_.run({.tokens = step.tokens.first(rows),
                   .positions = std::span(lengths_).first(rows),
                   .capacity = capacity(),
                   .limit = room_,
                   .wanted = {step.wanted.top_k, step.wanted.draws.first(std::min(rows, step.wanted.draws.size()))},
                   .entered = entered_,
                   .rings = rings},
                  [this](Pass&, const auto& newest) { return next_logits(model_, single_.get(), newest, caches_); });
  entered_.clear();
  for (std::size_t row = 0; row < lengths_.size(); ++row)
    if (lengths_[row] != kEmpty && !missed(static_cast<std::int64_t>(row))) ++lengths_[row];
  return scores;
}

}  // namespace attend::nn
