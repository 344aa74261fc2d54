#include "attend/checkpoint/quantised.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::checkpoint {

namespace {

// A convolution's weight [O, C, kh, kw] is a matrix [O, rest].
bool is_matrix(const Shape& shape) { return shape.rank() == 2 || shape.rank() == 4; }
std::int64_t columns_of(const Shape& shape) { return shape[0] > 0 ? shape.size() / shape[0] : 0; }

}  // namespace

bool is_scale(const TensorFile& file, std::string_view name) {
  if (!name.ends_with(kScaleSuffix)) return false;
  const StoredTensor* scaled = file.find(name.substr(0, name.size() - kScaleSuffix.size()));
  return scaled != nullptr && scaled->type == StoredType::i8;
}

std::vector<float> dequantise(const TensorFile& file, std::string_view name) {
  const StoredTensor& tensor = file[name];
  const std::string scale_name = std::string(name) + std::string(kScaleSuffix);
  const StoredTensor* scale = file.find(scale_name);
  check(scale != nullptr, "{}: tensor {} is I8, and its scale {} is not there", file.source(), shown(name),
        shown(scale_name));
  check(is_matrix(tensor.shape), "{}: tensor {} is I8 {}; only matrices and convolutions have scales", file.source(),
        shown(name), tensor.shape);
  const std::int64_t rows = tensor.shape[0], columns = columns_of(tensor.shape);
  const bool by_row = scale->shape == Shape{rows, 1};
  check(scale->type == StoredType::f32 && (by_row || scale->shape == Shape{1, columns}),
        "{}: tensor {} is I8 {}, so its scale must be F32 [{}, 1] or [1, {}], not {} {}", file.source(), shown(name),
        tensor.shape, rows, columns, name_of(scale->type), scale->shape);
  const std::vector<float> scales = file.floats(scale_name);
  for (std::size_t i = 0; i < scales.size(); ++i)
    check(std::isfinite(scales[i]) && scales[i] >= 0, "{}: scale {} of tensor {} is {}", file.source(), i, shown(name),
          scales[i]);
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.size()));
  const TensorBytes contents = file.contents(name);
  const auto* from = reinterpret_cast<const std::int8_t*>(contents.view().data());
  for (std::int64_t r = 0, i = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c, ++i)
      values[static_cast<std::size_t>(i)] =
          static_cast<float>(from[i]) * scales[static_cast<std::size_t>(by_row ? r : c)];
  return values;
}

Quantised quantise(std::span<const float> values, const Shape& shape, ScaleAxis axis, std::string_view what) {
  check(is_matrix(shape) && static_cast<std::int64_t>(values.size()) == shape.size(), "{}: {} numbers for {}", what,
        values.size(), shape);
  const std::int64_t rows = shape[0], columns = columns_of(shape);
  const bool by_row = axis == ScaleAxis::rows;
  Quantised result{std::vector<std::int8_t>(values.size()),
                   std::vector<float>(static_cast<std::size_t>(by_row ? rows : columns)),
                   by_row ? Shape{rows, 1} : Shape{1, columns}};
  const auto scale_of = [&](std::int64_t i) -> float& {
    return result.scales[static_cast<std::size_t>(by_row ? i / columns : i % columns)];
  };
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    const float size = std::fabs(values[static_cast<std::size_t>(i)]);
    check(std::isfinite(size), "{}: number {} is {}, which int8 cannot hold", what, i, size);
    scale_of(i) = std::max(scale_of(i), size);
  }
  for (float& scale : result.scales) scale /= 127;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    const float scale = scale_of(i),
                whole = scale > 0 ? std::nearbyint(values[static_cast<std::size_t>(i)] / scale) : 0;
    result.values[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(std::clamp(whole, -127.0f, 127.0f));
  }
  return result;
}

}  // namespace attend::checkpoint
