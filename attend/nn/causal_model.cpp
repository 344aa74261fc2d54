// Caches of keys and values for all layers of a causal model.
#include "attend/nn/causal_model.h"

#include <algorithm>

#include "attend/tensor/backend.h"

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

}  // namespace attend::nn
