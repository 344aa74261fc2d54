// The loops over pixels in which the time goes, compiled once for each instruction set (sources.cmake).
#pragma once

#include <cstddef>
#include <cstdint>

#include "attend/image/resize_weights.h"

namespace attend::image {

inline constexpr std::size_t kSlack = 32;  // bytes that may be read and written behind a row of RGB

struct Rows {
  // So many rows of RGB, each resized along itself. Reads and writes up to kSlack bytes behind each: the rows of the
  // result lie at least that far apart.
  void (*along_rgb)(const std::uint8_t* from, std::size_t from_stride, std::uint8_t* to, std::size_t to_stride,
                    int count, const GroupedWeights& weights);
  // One output row from `taps` rows that lie stride apart. No slack.
  void (*across)(const std::uint8_t* from, std::size_t stride, const std::int32_t* weights, int taps, int bits,
                 std::uint8_t* to, std::size_t bytes);
  // A row of RGB into three planes: plane[c][x] = row[3 x + c] * scale[c] + shift[c].
  void (*planes)(const std::uint8_t* row, std::size_t width, const float* scale, const float* shift,
                 float* const* plane);
};

// Those of this processor.
const Rows& rows();

}  // namespace attend::image
