// Caches of keys and values for all layers of a causal model.
#include "attend/nn/causal_model.h"

#include <algorithm>

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

Tensor next_logits(const CausalModel& model, CausalStep* single, const StepRunner::Newest& newest,
                   std::span<KvCache> caches) {
  const Sequences texts{.ids = newest.tokens, .positions = newest.positions};
  if (!single) return model.logits(model.states(texts, {.caches = caches, .places = newest.places})).flat_rows();
  const Tensor x = model.embedded(texts).flat_rows();  // [rows, C]
  const Tensor states = x.pass()->tensor(x.shape(), x.dtype());
  CausalStep::Input in{.x = x,
                       .caches = {},
                       .capacity = caches[0].capacity(),
                       .lengths = newest.places.lengths,
                       .slots = newest.places.slots};
  for (const KvCache& cache : caches) in.caches.push_back(cache.positions());
  single->run(in, states);
  return model.logits(states);
}

}  // namespace attend::nn
