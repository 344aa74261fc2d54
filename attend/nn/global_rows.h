// The global positions of packed sequences, for attention that gives them a projection of their own.
#pragma once

#include <cstdint>

#include "attend/tensor/tensor.h"

namespace attend::nn {

// The global positions among the rows of packed sequences, counted on the host.
struct GlobalRows {
  Tensor offsets, taken,
      merged;  // i32: of each sequence's; which rows they are; all rows, with theirs from behind them
  std::int64_t most = 0;
  GlobalRows(const Tensor& sequences, std::int64_t rows, std::int64_t globals);
};

}  // namespace attend::nn
