// Step-by-step decoding of a causal model, with a cache of keys and values per layer.
#include "attend/nn/causal_decoder.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/nn/narrowed.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

namespace {

// The model's sizes, with windows narrowed if the pass asks for it.
CausalModel::Sizes sizes_in(const Pass& pass, const CausalModel& model) {
  CausalModel::Sizes sizes = model.sizes();
  if (pass.attention_window() < 0) return sizes;
  sizes.windows.resize(static_cast<std::size_t>(sizes.layers));
  for (AttentionWindow& window : sizes.windows) window = narrowed(window, pass.attention_window(), true);
  return sizes;
}

}  // namespace

CausalDecoder::CausalDecoder(const CausalModel& model, Pass& pass, std::int64_t groups, std::int64_t group,
                             std::int64_t room)
    : model_(model),
      sizes_(sizes_in(pass, model)),
      pass_(pass),
      rows_(pass, groups, group),
      runner_(pass),
      history_(rows_.count()),
      rings_(cache_rings(sizes_)),
      caches_(make_caches(pass.backend(), sizes_, rows_.count(), std::min(room, sizes_.max_length))) {
  // A probe sees the attention of every layer, which one kernel does not show.
  if (rings_.empty() && !pass.probe()) single_ = model.single_step(pass.backend(), rows_.count());
  if (has_table()) table_.emplace(pass.backend(), rows_.count(), group);
}

// Only a GPU's attention over plain caches reads other rows, and probes know nothing of it. Where a single kernel does
// not either, there are two rows, and moving their caches is cheap.
bool CausalDecoder::has_table() const {
  return !pass_.backend().on_host() && rows_.group() > 1 && rows_.group() <= Backend::kMostFollowed && rings_.empty() &&
         !sizes_.cleared && !pass_.probe() && (!single_ || single_->follows_rows());
}

CausalDecoder::CausalDecoder(const CausalModel& model, Pass& pass, const Tensor& prompts, std::int64_t group,
                             std::int64_t tokens)
    : CausalDecoder(model, pass, prompts.dim(0), group, prompts.dim(-1) + tokens) {
  check(prompts.rank() == 2 && prompts.dim(1) >= 1, "decoder: prompts must be [B, T] with a token at least, not {}",
        prompts.shape());
  prompts_ = pass.input(prompts);
}

Tensor CausalDecoder::read_prompts() {
  const std::int64_t batch = prompts_.dim(0), length = prompts_.dim(1);
  const Tensor states = model_.states({.ids = prompts_}, {.caches = caches_});  // [B, T, C]
  history_.start(length, rows_.group());
  length_ = length;
  prompts_ = Tensor();
  const Tensor last = ops::slice(states, 1, length - 1, 1);                  // [B, 1, C]
  const Tensor logits = model_.logits(last.reshape({batch, last.width()}));  // [B, V]
  // Rows of a group start from the same prompt, so its scores are repeated: [R, V].
  if (rows_.group() == 1) return logits;
  std::vector<std::int32_t> sources;
  for (std::int64_t row = 0; row < rows_.count(); ++row)
    sources.push_back(static_cast<std::int32_t>(row / rows_.group()));
  return ops::gather(logits, rows_.ints(sources));
}

std::int64_t CausalDecoder::suppress(std::span<const std::int32_t> ids) {
  const std::int64_t left = rows_.suppress(ids, vocabulary());
  runner_.suppress(rows_.suppressed());
  return left;
}

StepModel::Scores CausalDecoder::step(std::span<const std::int32_t> tokens, const Wanted& wanted) {
  rows_.start(tokens);
  check(length_ < sizes_.max_length, "decoder: the model has only {} positions", sizes_.max_length);
  if (prompts_.defined()) return rows_.scores(read_prompts(), wanted);
  for (KvCache& cache : caches_)
    // A cache that grew has new memory, so a captured step is no longer valid.
    if (cache.reserve(length_ + 1)) runner_.memory_moved();
  const std::int64_t capacity = whole_capacity(caches_, sizes_.max_length);
  if (table_ && table_->reserve(capacity)) runner_.memory_moved();
  const auto rings = ring_rooms(rings_, caches_);
  const Scores scores = runner_.run({.tokens = tokens,
                                     .positions = rows_.all_at(length_),
                                     .capacity = capacity,
                                     .limit = std::min(capacity, sizes_.max_length),
                                     .wanted = wanted,
                                     .rings = rings,
                                     .moves = table_ ? table_->moves() : std::span<const std::int32_t>()},
                                    [this](Pass&, const auto& newest) { return next(newest); });
  for (KvCache& cache : caches_) cache.advance(1);
  if (table_)
    table_->followed();
  else
    history_.append();
  ++length_;
  return scores;
}

Tensor CausalDecoder::next(const StepRunner::Newest& newest) {
  if (!table_) return next_logits(model_, single_.get(), newest, caches_);
  StepRunner::Newest following = newest;
  table_->follow(newest.moves, newest.places.lengths);
  following.places.rows = newest.tokens.pass()->input(table_->table());
  return next_logits(model_, single_.get(), following, caches_);
}

void CausalDecoder::reorder(std::span<const std::int32_t> from) {
  check(!prompts_.defined(), "decoder: rows can move only once the prompts are read");
  const std::int64_t before = rows_.count();
  if (!rows_.move(from)) return;
  if (table_ && rows_.count() == before) return table_->move(from);
  if (table_) {
    const Tensor places = table_->places_of(from);
    for (KvCache& cache : caches_) cache.gather(places, rows_.count());
    table_->reset(rows_.count());
    take_single_step();
    return runner_.memory_moved();
  }
  const RowMoves moves = history_.move(pass_.backend(), from);
  for (KvCache& cache : caches_)
    if (cache.reorder(moves)) runner_.memory_moved();
}

// The first rows may have been too many for a step in one kernel.
void CausalDecoder::take_single_step() {
  if (single_ || !rings_.empty() || pass_.probe()) return;
  auto one = model_.single_step(pass_.backend(), rows_.count());
  if (one && one->follows_rows()) single_ = std::move(one);
}

// A probe expects the rows of open texts only.
bool CausalDecoder::drops_rows_cheaply() const { return pass_.backend().on_host() || pass_.probe(); }

}  // namespace attend::nn
