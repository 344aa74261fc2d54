// Caches of keys and values for all layers of a causal model.
#include "attend/nn/causal_model.h"

#include <algorithm>
#include <utility>

#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

std::vector<KvCache> make_caches(Backend& backend, const CausalModel::Sizes& sizes, std::int64_t rows,
                                 std::int64_t room) {
  std::vector<KvCache> caches;
  // Exact prompts must read keys and values as they were computed, which rounded caches do not keep.
  const bool rounded = sizes.rounded && !backend.exact_prompts();
  const CacheForm form{sizes.width, sizes.heads, rounded ? DType::bf16 : sizes.dtype, sizes.cleared};
  const std::vector<CacheRing> rings = cache_rings(sizes);
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    const CacheRing ring = sizes.windows.empty() ? CacheRing() : CacheRing(sizes.windows.at(layer), sizes.max_length);
    const auto number = std::find(rings.begin(), rings.end(), ring) - rings.begin();
    caches.emplace_back(backend, rows, form, ring, static_cast<std::size_t>(number));
    caches.back().reserve(room);
  }
  return caches;
}

namespace {

// Undefined if the tokens have been chosen.
Tensor logits_or_choice(const CausalModel& model, const StepRunner::Newest& newest, const Tensor& states) {
  const Tensor rows = states.flat_rows(), table = model.output_table();
  if (table.defined() && newest.choose && newest.choose(rows, table)) return {};
  return model.logits(rows);
}

}  // namespace

Tensor next_logits(const CausalModel& model, CausalStep* single, const StepRunner::Newest& newest,
                   std::span<KvCache> caches) {
  const Sequences texts{.ids = newest.tokens, .positions = newest.positions};
  if (!single) return logits_or_choice(model, newest, model.states(texts, {.caches = caches, .places = newest.places}));
  const Tensor x = model.embedded(texts).flat_rows();  // [rows, C]
  const Tensor states = x.pass()->tensor(x.shape(), x.dtype());
  CausalStep::Input in{.x = x,
                       .caches = {},
                       .capacity = caches[0].capacity(),
                       .lengths = newest.places.lengths,
                       .slots = newest.places.slots,
                       .places = newest.places.rows,
                       .memory = model.memory()};
  for (const KvCache& cache : caches) in.caches.push_back(cache.positions());
  single->run(in, states);
  return logits_or_choice(model, newest, states);
}

Tensor read_behind(const CausalModel& model, Pass& pass, std::span<KvCache> caches, const TextPlace& place,
                   std::span<const std::int32_t> tokens) {
  constexpr std::int64_t kAligned = 64;
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::int64_t each = (count / kAligned + 1) * kAligned;  // room for count + 1 numbers
  enum List : std::int64_t { kIds, kPositions, kLengths, kSlots, kCounted, kZeros, kLists };
  std::vector<std::int32_t> words(static_cast<std::size_t>(kLists * each));
  const auto put = [&](List list, std::int64_t i, std::int64_t value) {
    words[static_cast<std::size_t>(list * each + i)] = static_cast<std::int32_t>(value);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = place.length + i;
    put(kIds, i, tokens[static_cast<std::size_t>(i)]), put(kPositions, i, position), put(kLengths, i, position + 1);
    put(kSlots, i, place.row * place.capacity + position), put(kCounted, i + 1, i + 1);
  }
  const Tensor sent = pass.tensor({kLists * each}, DType::i32);
  pass.backend().to_device(sent.raw(), words.data(), words.size() * sizeof(std::int32_t));
  const auto list = [&](List which, std::int64_t size) { return sent.slice_first(which * each, size); };
  CachePlaces places{.lengths = list(kLengths, count), .slots = list(kSlots, count)};
  if (!pass.backend().on_host())
    places.query_offsets = list(kCounted, count + 1), places.key_offsets = list(kZeros, count + 1);
  for (KvCache& cache : caches) cache.show(1, place.row);
  return model
      .states({.ids = list(kIds, count).reshape({count, 1}), .positions = list(kPositions, count).reshape({count, 1})},
              {.caches = caches, .places = std::move(places)})
      .flat_rows();
}

}  // namespace attend::nn
