// The interface of causal models (GPT-2, a Transformer decoder with its memory) for decoding (causal_decoder.h,
// causal_batch.h). There is one forward pass; it may keep keys and values and continue from them.
//   ids [B, T] -> states [B, T, C] -> logits [B, T, V];   a step: ids [rows, 1] -> [rows, V]
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attend/nn/kv_cache.h"
#include "attend/nn/sequences.h"
#include "attend/nn/step_runner.h"
#include "attend/tensor/causal_step.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

// Options of a forward pass.
struct ForwardOptions {
  std::span<KvCache> caches = {};  // one per layer; empty if nothing is kept
  CachePlaces places = {};
  std::vector<Tensor>* hidden = nullptr;  // receives the stream before every layer, then the states

  LayerCache cache(std::size_t layer) const {
    return caches.empty() ? LayerCache{} : LayerCache{&caches[layer], places};
  }
  bool goes_on() const { return places.lengths.defined(); }  // true if each text continues by one position
};

class CausalModel {
 public:
  virtual ~CausalModel() = default;
  struct Sizes {
    std::int64_t vocabulary = 0, max_length = 0, layers = 0, width = 0;
    DType dtype = DType::f32;
    std::int64_t heads = 1;
    bool rounded = false;                       // weights are bf16 or int8, so bf16 is enough for keys and values
    std::vector<AttentionWindow> windows = {};  // per layer; empty if all layers attend to all positions
    bool packed = true;                         // reads several packed texts at once; otherwise one padded text
    bool cleared = false;                       // caches need zeros where nothing was written (CacheForm)
  };
  virtual Sizes sizes() const = 0;
  virtual Tensor states(const Sequences& texts, const ForwardOptions& reading) const = 0;  // ids -> [.., C]
  virtual Tensor logits(const Tensor& states) const = 0;  // scores of the next token: [.., C] -> [.., V]
  // The table [V, C] if the logits are its products with the states and nothing else; otherwise undefined.
  virtual Tensor output_table() const { return {}; }

  // A step as one kernel, if the device has one for this model and so many rows; and its input, ids -> [.., C].
  virtual std::unique_ptr<CausalStep> single_step(Backend& /*backend*/, std::int64_t /*rows*/) const { return nullptr; }
  virtual Tensor embedded(const Sequences& /*texts*/) const { return {}; }
  virtual CausalStep::Memory memory() const { return {}; }  // of a model that reads one
};

// The different rings that a model's caches use.
inline std::vector<CacheRing> cache_rings(const CausalModel::Sizes& sizes) {
  std::vector<CacheRing> rings;
  for (const AttentionWindow& window : sizes.windows)
    if (const CacheRing ring(window, sizes.max_length);
        ring.rolls() && std::find(rings.begin(), rings.end(), ring) == rings.end())
      rings.push_back(ring);
  return rings;
}

// One cache per layer, with room for `room` positions in each row.
std::vector<KvCache> make_caches(Backend& backend, const CausalModel::Sizes& sizes, std::int64_t rows,
                                 std::int64_t room);

// The rings and the current capacity of their caches, for StepRunner::Step.
inline std::vector<StepRunner::RingRoom> ring_rooms(std::span<const CacheRing> rings, std::span<const KvCache> caches) {
  std::vector<StepRunner::RingRoom> rooms;
  for (const CacheRing& ring : rings) {
    const auto cache = std::find_if(caches.begin(), caches.end(), [&](const KvCache& c) { return c.ring() == ring; });
    rooms.push_back({ring, cache->capacity()});
  }
  return rooms;
}

// The capacity of a row in caches that keep every position; `otherwise` if there are none.
inline std::int64_t whole_capacity(std::span<const KvCache> caches, std::int64_t otherwise) {
  for (const KvCache& cache : caches)
    if (!cache.ring().rolls()) return cache.capacity();
  return otherwise;
}

// One step: the newest token of each row is stored in the caches.   tokens [rows, 1] -> logits [rows, V], or nothing if
// the next tokens have been chosen (StepRunner::Newest::choose).
// single computes it if there is one; it knows nothing of probes and rolling caches.
Tensor next_logits(const CausalModel& model, CausalStep* single, const StepRunner::Newest& newest,
                   std::span<KvCache> caches);

// Reads tokens of one text behind earlier ones in a row of the caches, which then show this row: they are like the rows
// of a step that share a row of the caches, each up to its own position.   tokens [n] -> states [n, C]
struct TextPlace {
  std::int64_t row = 0, length = 0, capacity = 0;  // length: earlier tokens
};
Tensor read_behind(const CausalModel& model, Pass& pass, std::span<KvCache> caches, const TextPlace& place,
                   std::span<const std::int32_t> tokens);

}  // namespace attend::nn
