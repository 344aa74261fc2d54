// What of Shape is made seldom, and what its messages say.
#include "attend/tensor/shape.h"

#include <algorithm>
#include <string_view>

namespace attend {

Shape::Shape(std::initializer_list<std::int64_t> dims) {
  for (std::int64_t dim : dims) append(dim);
}

void Shape::set(int axis, std::int64_t dim) {
  check(dim >= 0, "shape: dimension {} cannot be {}", axis, dim);
  dims_[index(axis)] = dim;
}

void Shape::append(std::int64_t dim) {
  check(rank_ < kMaxRank, "shape: more than {} dimensions", kMaxRank);
  check(dim >= 0, "shape: dimension {} cannot be {}", rank_, dim);
  dims_[rank_++] = dim;
}

Shape Shape::with_last(std::int64_t dim) const {
  Shape shape = *this;
  shape.set(-1, dim);
  return shape;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text += (i ? ", " : "") + std::to_string(dims_[i]);
  return text + "]";
}

void Shape::refuse(int axis) const { fail("shape: axis {} of {}", axis, to_string()); }

}  // namespace attend

namespace {

fmt::appender write(std::string_view text, fmt::format_context& context) {
  return std::copy(text.begin(), text.end(), context.out());
}

}  // namespace

fmt::appender fmt::formatter<attend::Shape>::format(const attend::Shape& shape, fmt::format_context& context) const {
  return write(shape.to_string(), context);
}

fmt::appender fmt::formatter<attend::DType>::format(attend::DType dtype, fmt::format_context& context) const {
  return write(attend::name_of(dtype), context);
}
