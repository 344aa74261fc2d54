// Positions that enter through attention instead of the embeddings: only the distance of query and key counts.
//   rotary    pairs of components of q and k turn by an angle that grows with the position (Su et al. 2021, "RoFormer")
//   relative  a learned number for each head and distance is added to the scores (Raffel et al. 2020, "T5",
//   section 2.1)
#pragma once

#include <cstdint>

#include "attend/nn/fixed_table.h"
#include "attend/nn/kv_cache.h"
#include "attend/nn/parameter.h"
#include "attend/nn/sequences.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

// What turns the queries and keys of one forward pass; undefined where positions are not rotary.
struct Rotation {
  Tensor cosine = {}, sine = {};  // like the queries, or [T, C] for all rows; the sine has the sign of its half

  bool defined() const { return cosine.defined(); }
  // x [.., C] turned. Component i of a head is paired with component i + D / 2.
  Tensor operator()(const Tensor& x, std::int64_t heads) const;
};

class Rotary {
 public:
  // For positions below max_length. The angles are those of the sinusoids: position / 10000^(2 i / D).
  Rotary(std::int64_t max_length, std::int64_t width, std::int64_t heads);
  Rotation operator()(const Sequences& texts, const Tensor& beside) const;

 private:
  FixedTable<float> cosine_, sine_;  // [max_length, C]
};

// One table for all layers of a stack. Distances share 32 buckets: near ones have their own, far ones up to 128 are
// grouped logarithmically, and all beyond share the last.
class RelativeBias {
 public:
  static constexpr std::int64_t kBuckets = 32, kFarthest = 128;

  // causal: only distances to earlier keys are told apart.
  RelativeBias(std::int64_t max_length, std::int64_t heads, bool causal);
  // For texts of `length` positions, [1, H, T, T].
  Tensor of_texts(std::int64_t length, const Tensor& beside) const;
  // For one more position of each row, i32 [rows, 1], against a cache of that capacity: [rows, H, 1, capacity].
  Tensor of_newest(const Tensor& positions, std::int64_t capacity, const Tensor& beside) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("weight", table_);
  }

 private:
  Tensor by_places(std::int64_t length, const Tensor& beside) const;

  std::int64_t heads_, reach_;
  Parameter table_;                       // [32, H]
  FixedTable<std::int32_t> of_distance_;  // bucket of key minus query, from -reach to reach
};

// The bucket of key position minus query position, as T5 has it.
std::int64_t relative_bucket(std::int64_t distance, bool causal);

}  // namespace attend::nn
