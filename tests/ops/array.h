// Plain doubles with a shape: what the references of the op tests compute on.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/tensor/shape.h"

namespace attend::test {

struct Array {
  Shape shape;
  std::vector<double> values;

  Array() = default;
  explicit Array(const Shape& of, double value = 0) : shape(of), values(static_cast<std::size_t>(of.size()), value) {}

  // The element at one index an axis.
  template <class... Index>
  double& operator()(Index... index) {
    return values[place(index...)];
  }
  template <class... Index>
  double operator()(Index... index) const {
    return values[place(index...)];
  }

  std::int64_t dim(int axis) const { return shape[axis]; }
  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  std::int64_t width() const { return shape.rank() ? shape[-1] : 1; }
  std::int64_t rows() const { return shape.rows(); }

  // Element c of row r, whatever the leading axes are.
  double& at(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * width() + c)]; }
  double at(std::int64_t r, std::int64_t c) const { return values[static_cast<std::size_t>(r * width() + c)]; }
  double& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }

  Array reshaped(const Shape& to) const {
    Array other;
    other.shape = to;
    other.values = values;
    return other;
  }

 private:
  template <class... Index>
  std::size_t place(Index... index) const {
    std::int64_t at = 0;
    const std::int64_t* dim = shape.begin();
    ((at = at * *dim++ + static_cast<std::int64_t>(index)), ...);
    return static_cast<std::size_t>(at);
  }
};

}  // namespace attend::test
