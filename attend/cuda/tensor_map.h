// How the copy engine of Hopper (bulk_copy.cuh) sees a matrix: rows of bf16, copied in swizzled tiles of 64 columns.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "attend/tensor/window_walk.h"

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

// An image [B, H, W, C] whose pixels are copied window by window, `tile_rows` pixels of 64 channels at a time: a tile
// like that of a matrix whose rows are the results of the walk. Channels beyond the last come as zeros.
struct WindowedImage {
  const void* data = nullptr;                   // aligned to 16 bytes, and so is each pixel
  std::int64_t channels = 0;                    // that a copy may read
  std::int64_t pixel = 0, line = 0, image = 0;  // elements from one to the next; pixels may overlap
  images::WindowWalk walk;
  int tile_rows = 64;  // up to 1024
};

// Nothing where the engine cannot walk like that.
std::optional<CUtensorMap> tensor_map_of_windows(const WindowedImage& image);

}  // namespace attend::cuda
