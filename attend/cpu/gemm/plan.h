// How a product is shared out: the panels of A and of B that a task takes, and whether A is packed ahead.
#pragma once

#include "attend/cpu/gemm/kernel.h"

namespace attend::cpu::detail {

struct Product {
  std::int64_t k = 0;
  std::int64_t width = 0;  // rows of a panel of A
  std::int64_t panels_m = 0, panels_n = 0;
  std::int64_t most_wide = 0;  // the most panels of B in a task
  bool a_packed = false;       // A needs no packing: read where it lies
  bool b_packed = false;       // B is packed ahead, or needs no packing
  bool streamed = false;       // B is read where it lies, by rows: the wider a task, the longer its runs
  int threads = 1;
};

struct Plan {
  std::int64_t high = 1, wide = 1;  // panels of A and of B in a task
  bool share_a = false;             // A is packed once, ahead, by all threads
};

// Depends on sizes and threads; what is computed for an element of C does not depend on the answer.
Plan make_plan(const Kernel& kernel, const Product& product);

}  // namespace attend::cpu::detail
