// How resizing and pooling walk over images [B, rows, columns, channels]: a block has one row of one image, so that
// what depends on the row is found once, and a thread a column and a pack of channels.
#pragma once

#include <algorithm>

#include "attend/cuda/launch.cuh"

namespace attend::cuda {

inline constexpr int kRowThreads = 256;

// body(Type<T>, width): packs of 16 bytes where all tensors have them, else one channel at a time.
template <class Body>
void with_channel_packs(const Tensor& x, const Tensor& y, const char* op, Body&& body) {
  with_float(x.dtype(), op, [&](auto type) {
    using T = typename decltype(type)::type;
    if (x.dim(3) % kPack<T> == 0 && aligned16(x) && aligned16(y))
      body(type, std::integral_constant<int, kPack<T>>{});
    else
      body(type, std::integral_constant<int, 1>{});
  });
}

inline unsigned row_blocks(const Tensor& images) { return blocks_for(images.dim(0) * images.dim(1), 1); }

// This block's row: of which image, and which of its rows.
struct ImageRow {
  std::int64_t image;
  int row;
  __device__ explicit ImageRow(std::int64_t rows)
      : image(blockIdx.x / static_cast<int>(rows)), row(static_cast<int>(blockIdx.x) % static_cast<int>(rows)) {}
};

}  // namespace attend::cuda
