// The extents of a tensor: up to six, held inline so that making one never allocates. Messages are made in shape.cpp:
// most sources read shapes, and each would compile what it formats again.
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
  Shape(std::initializer_list<std::int64_t> dims);

  int rank() const { return rank_; }

  // dim(-1) is the last one.
  std::int64_t operator[](int axis) const { return dims_[index(axis)]; }
  void set(int axis, std::int64_t dim);
  void append(std::int64_t dim);

  // 0 <= axis < rank, with negative axes counted from the end.
  int index(int axis) const {
    const int i = axis < 0 ? axis + rank_ : axis;
    if (i < 0 || i >= rank_) [[unlikely]]
      refuse(axis);
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
  Shape with_last(std::int64_t dim) const;

  const std::int64_t* begin() const { return dims_; }
  const std::int64_t* end() const { return dims_ + rank_; }

  std::string to_string() const;

 private:
  [[noreturn, gnu::cold]] void refuse(int axis) const;

  std::int64_t dims_[kMaxRank] = {};
  int rank_ = 0;
};

}  // namespace attend

// As {}, without a width.
template <>
struct fmt::formatter<attend::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::appender format(const attend::Shape& shape, fmt::format_context& context) const;
};

template <>
struct fmt::formatter<attend::DType> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::appender format(attend::DType dtype, fmt::format_context& context) const;
};
