// A model that goes on with texts token by token (GPT-2; a Transformer's decoder with its memory), as decoders see it
// (causal_decoder.h, causal_batch.h): one forward, which may keep the keys and values of what it reads, and go on from
// those it kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attend/nn/kv_cache.h"
#include "attend/nn/sequences.h"
#include "attend/nn/step_runner.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

// How a model reads texts.
struct ForwardOptions {
  std::span<KvCache> caches = {};  // one a layer; none: nothing is kept
  CachePlaces places = {};
  std::vector<Tensor>* hidden = nullptr;  // gets the stream before every layer, and then the states

  LayerCache cache(std::size_t layer) const {
    return caches.empty() ? LayerCache{} : LayerCache{&caches[layer], places};
  }
  bool goes_on() const { return places.lengths.defined(); }  // one more position of each text
};

class CausalModel {
 public:
  virtual ~CausalModel() = default;
  struct Sizes {
    std::int64_t vocabulary = 0, max_length = 0, layers = 0, width = 0;
    DType dtype = DType::f32;
    std::int64_t heads = 1;
    bool rounded = false;  // its weights are bf16 or int8: keys and values need be no finer than bf16
    std::vector<AttentionWindow> windows = {};  // of the layers' self-attention; none: they see all
  };
  virtual Sizes sizes() const = 0;
  virtual Tensor states(const Sequences& texts, const ForwardOptions& reading) const = 0;  // ids -> [.., C]
  virtual Tensor logits(const Tensor& states) const = 0;  // what comes next: [.., C] -> [.., V]
};

// The rings of a model's caches, each once.
inline std::vector<CacheRing> cache_rings(const CausalModel::Sizes& sizes) {
  std::vector<CacheRing> rings;
  for (const AttentionWindow& window : sizes.windows)
    if (const CacheRing ring(window, sizes.max_length);
        ring.rolls() && std::find(rings.begin(), rings.end(), ring) == rings.end())
      rings.push_back(ring);
  return rings;
}

// A cache for each layer, with room for so many positions of each row.
std::vector<KvCache> make_caches(Backend& backend, const CausalModel::Sizes& sizes, std::int64_t rows,
                                 std::int64_t room);

// The rings with the room that their caches have now, for StepRunner::Step.
inline std::vector<StepRunner::RingRoom> ring_rooms(std::span<const CacheRing> rings, std::span<const KvCache> caches) {
  std::vector<StepRunner::RingRoom> rooms;
  for (const CacheRing& ring : rings) {
    const auto cache = std::find_if(caches.begin(), caches.end(), [&](const KvCache& c) { return c.ring() == ring; });
    rooms.push_back({ring, cache->capacity()});
  }
  return rooms;
}

// Of the caches that keep every position, the room of a row; that of `otherwise` where there are none.
inline std::int64_t whole_capacity(std::span<const KvCache> caches, std::int64_t otherwise) {
  for (const KvCache& cache : caches)
    if (!cache.ring().rolls()) return cache.capacity();
  return otherwise;
}

// A step: the newest token of each row takes its place in the caches. -> [rows, V]
inline Tensor next_logits(const CausalModel& model, const StepRunner::Newest& newest, std::span<KvCache> caches) {
  const Tensor states =
      model.states({.ids = newest.tokens, .positions = newest.positions}, {.caches = caches, .places = newest.places});
  return model.logits(states).flat_rows();
}

}  // namespace attend::nn
