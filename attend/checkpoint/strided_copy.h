// Elements that lie apart, put one behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attend/tensor/shape.h"

namespace attend::checkpoint {

// Element [i, j, ..] of the shape lies strides[0] · i + strides[1] · j + .. elements of this width behind the first of
// from. Every one of them must be there, and room for all in `to`.
void copy_in_rows(std::span<const std::byte> from, std::size_t width, const Shape& shape,
                  std::span<const std::int64_t> strides, std::span<std::byte> to);

}  // namespace attend::checkpoint
