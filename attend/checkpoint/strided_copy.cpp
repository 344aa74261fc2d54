#include "attend/checkpoint/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "attend/base/error.h"

namespace attend::checkpoint {

namespace {

// Axes as seen by the copy: [rows, columns] innermost, the others counted through in front of them.
struct Plane {
  std::int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 0;
};

// A transposed matrix is read along one axis and written along the other: in squares of so many elements, both sides
// stay in the cache.
constexpr std::int64_t kSquare = 32;

template <std::size_t kWidth>
void copy_plane(const std::byte* from, std::byte* to, const Plane& plane) {
  constexpr auto kBytes = static_cast<std::int64_t>(kWidth);
  for (std::int64_t top = 0; top < plane.rows; top += kSquare)
    for (std::int64_t left = 0; left < plane.columns; left += kSquare)
      for (std::int64_t r = top; r < std::min(top + kSquare, plane.rows); ++r)
        for (std::int64_t c = left; c < std::min(left + kSquare, plane.columns); ++c)
          std::memcpy(to + (r * plane.columns + c) * kBytes,
                      from + (r * plane.row_stride + c * plane.column_stride) * kBytes, kWidth);
}

void copy_plane(const std::byte* from, std::byte* to, const Plane& plane, std::size_t width) {
  switch (width) {
    case 1:
      return copy_plane<1>(from, to, plane);
    case 2:
      return copy_plane<2>(from, to, plane);
    case 4:
      return copy_plane<4>(from, to, plane);
    case 8:
      return copy_plane<8>(from, to, plane);
    default:
      fail("copy_in_rows: no number is {} bytes wide", width);
  }
}

}  // namespace

void copy_in_rows(std::span<const std::byte> from, std::size_t width, const Shape& shape,
                  std::span<const std::int64_t> strides, std::span<std::byte> to) {
  const auto bytes = static_cast<std::size_t>(shape.size()) * width;
  check(strides.size() == static_cast<std::size_t>(shape.rank()) && to.size() == bytes,
        "copy_in_rows: {} strides and {} bytes for {}", strides.size(), to.size(), shape);
  if (bytes == 0) return;
  const int rank = shape.rank(), outer = std::max(rank - 2, 0);
  const auto axis = [&](int back) { return static_cast<std::size_t>(rank - back); };
  Plane plane;
  if (rank > 0) plane.columns = shape[-1], plane.column_stride = strides[axis(1)];
  if (rank > 1) plane.rows = shape[-2], plane.row_stride = strides[axis(2)];
  const auto plane_bytes = static_cast<std::size_t>(plane.rows * plane.columns) * width;
  std::vector<std::int64_t> at(static_cast<std::size_t>(outer), 0);
  for (std::size_t done = 0; done < bytes; done += plane_bytes) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * strides[i];
    copy_plane(from.data() + static_cast<std::size_t>(offset) * width, to.data() + done, plane, width);
    for (std::size_t i = at.size(); i-- > 0;) {  // the next plane, the last axis fastest
      if (++at[i] < shape[static_cast<int>(i)]) break;
      at[i] = 0;
    }
  }
}

}  // namespace attend::checkpoint
