// Lookup of table rows by id: token embeddings, with scale and positions added on the way (Vaswani et al. 2017,
// sections 3.4 and 3.5); and gather in general.
#pragma once

#include <cstdint>

#include "attend/tensor/tensor.h"

namespace attend::ops {

struct EmbeddingOptions {
  float scale = 1;           // sqrt(C) in Vaswani et al. 2017, section 3.4
  Tensor positions = {};     // [P, C]: added row by row
  Tensor position_ids = {};  // like ids; by default the index in the last axis of ids
  // Rows of the table and of the positions that receive no gradient, such as BERT's padding; -1 means none.
  std::int64_t padding = -1, position_padding = -1;
};

//   ids i32 [..]   table [V, C]   ->   [.., C]
Tensor embedding(const Tensor& ids, const Tensor& table, const EmbeddingOptions& options = {});

// Selects rows of x [N, ..]: ids i32 [M] -> [M, ..].
Tensor gather(const Tensor& x, const Tensor& ids);

}  // namespace attend::ops
