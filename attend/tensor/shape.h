// The extents of a tensor: up to six, held inline so that making one never allocates.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "attend/base/dtype.h"
#include "attend/base/error.h"

namespace attend {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) {
    for (std::int64_t dim : dims) append(dim);
  }

  int rank() const { return rank_; }

  // dim(-1) is the last one.
  std::int64_t operator[](int axis) const { return dims_[index(axis)]; }
  void set(int axis, std::int64_t dim) {
    check(dim >= 0, "shape: dimension {} cannot be {}", axis, dim);
    dims_[index(axis)] = dim;
  }
  void append(std::int64_t dim) {
    check(rank_ < kMaxRank, "shape: more than {} dimensions", kMaxRank);
    check(dim >= 0, "shape: dimension {} cannot be {}", rank_, dim);
    dims_[rank_++] = dim;
  }

  // 0 <= axis < rank, with negative axes counted from the end.
  int index(int axis) const {
    const int i = axis < 0 ? axis + rank_ : axis;
    if (i < 0 || i >= rank_) [[unlikely]]  // not check(): this is read everywhere, and to_string() allocates
      fail("shape: axis {} of {}", axis, to_string());
    return i;
  }

  std::int64_t size() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= dims_[i];
    return product;
  }
  // How many rows of the last axis there are.
  std::int64_t rows() const {
    std::int64_t product = 1;
    for (int i = 0; i + 1 < rank_; ++i) product *= dims_[i];
    return product;
  }

  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (dims_[i] != other.dims_[i]) return false;
    return true;
  }

  // The same shape with another last dimension: hidden states to logits.
  Shape with_last(std::int64_t dim) const {
    Shape shape = *this;
    shape.set(-1, dim);
    return shape;
  }

  const std::int64_t* begin() const { return dims_; }
  const std::int64_t* end() const { return dims_ + rank_; }

  std::string to_string() const {
    std::string text = "[";
    for (int i = 0; i < rank_; ++i) text += (i ? ", " : "") + std::to_string(dims_[i]);
    return text + "]";
  }

 private:
  std::int64_t dims_[kMaxRank] = {};
  int rank_ = 0;
};

}  // namespace attend

template <>
struct fmt::formatter<attend::Shape> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const attend::Shape& shape, Context& context) const {
    return fmt::format_to(context.out(), "{}", shape.to_string());
  }
};

template <>
struct fmt::formatter<attend::DType> : fmt::formatter<const char*> {
  template <class Context>
  auto format(attend::DType dtype, Context& context) const {
    return fmt::format_to(context.out(), "{}", attend::name_of(dtype));
  }
};
