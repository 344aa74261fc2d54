// How the copy engine of Hopper (bulk_copy.cuh) sees a matrix: rows of bf16, copied in swizzled tiles of 64 columns.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace attend::cuda {

struct TiledMatrix {
  const void* data = nullptr;  // aligned to 16 bytes, and so is each row
  std::int64_t rows = 0, columns = 0, stride = 0;
  int tile_rows = 64;  // up to 256
};

CUtensorMap tensor_map(const TiledMatrix& matrix);

// A matrix whose rows are heads side by side: tiles stay inside a head, and what is right of it comes as zeros.
struct TiledHeads {
  const void* data = nullptr;  // aligned to 16 bytes, and so is each row and each head
  std::int64_t rows = 0, heads = 0, width = 0, stride = 0;
  int tile_rows = 64;  // up to 256
};

CUtensorMap tensor_map_of_heads(const TiledHeads& matrix);

}  // namespace attend::cuda
