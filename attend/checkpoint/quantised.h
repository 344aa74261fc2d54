// Weights as whole numbers: an I8 tensor NAME [R, C] beside an F32 tensor NAME.scale, [R, 1] or [1, C], whose product
// is the weight. A scale belongs to an output of the layer: to a row, or to a column where the weight is [in, out]. The
// weight of a convolution, [O, C, kh, kw], has one for each of its outputs, [O, 1].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attend/checkpoint/tensor_file.h"

namespace attend::checkpoint {

inline constexpr std::string_view kScaleSuffix = ".scale";

// Whether this is the scale of an I8 tensor of the same file.
bool is_scale(const TensorFile& file, std::string_view name);

// An I8 tensor times its scale. Throws Error when that is missing, of another shape or type, or not finite.
std::vector<float> dequantise(const TensorFile& file, std::string_view name);

// The other way: round(x / scale), scale = the largest of the row (or column) / 127.
enum class ScaleAxis : std::uint8_t { rows, columns };
struct Quantised {
  std::vector<std::int8_t> values;
  std::vector<float> scales;
  Shape scale_shape;
};
// values [R, C]. Throws Error for one that is not finite, naming what.
Quantised quantise(std::span<const float> values, const Shape& shape, ScaleAxis axis, std::string_view what);

}  // namespace attend::checkpoint
