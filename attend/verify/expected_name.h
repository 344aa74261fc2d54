// Names in expected.safetensors: "hidden.12[:, :, ::16]" is that slice, as NumPy writes it, of the whole tensor
// "hidden.12".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "attend/tensor/shape.h"

namespace attend::verify {

struct SliceRange {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max(), step = 1;
  std::int64_t count(std::int64_t size) const;
};

struct ExpectedName {
  std::string tensor;              // without the slice
  std::vector<SliceRange> ranges;  // one for each dimension; none: the whole tensor
};

// Throws Error with what (a path) for a slice that is none, and for what we do not read: negative numbers.
ExpectedName parse_expected_name(std::string_view name, std::string_view what);

// The shape of the slice. Throws Error unless there is a range for each dimension.
Shape sliced(const Shape& shape, const ExpectedName& name);
// The elements of the slice, row by row.
std::vector<std::size_t> slice_indices(const Shape& shape, const ExpectedName& name);

}  // namespace attend::verify
