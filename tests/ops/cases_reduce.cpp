// sum, mean and max over each axis.
#include <fmt/core.h>

#include "attend/ops/reduce.h"
#include "attend/tensor/backend.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

Arrays reduce_reference(Reduction kind, const Array& x, int axis) {
  Shape shape;
  std::int64_t before = 1, after = 1;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i == axis) continue;
    (i < axis ? before : after) *= x.dim(i);
    shape.append(x.dim(i));
  }
  if (shape.rank() == 0) shape.append(1);
  Array y(shape), index(shape);
  const std::int64_t count = x.dim(axis);
  for (std::int64_t a = 0; a < before; ++a)
    for (std::int64_t c = 0; c < after; ++c) {
      double sum = 0, largest = -1e300;
      std::int64_t where = 0;
      for (std::int64_t n = 0; n < count; ++n) {
        const double value = x[(a * count + n) * after + c];
        sum += value;
        if (value > largest) largest = value, where = n;
      }
      y[a * after + c] = kind == Reduction::sum    ? sum
                         : kind == Reduction::mean ? sum / static_cast<double>(count)
                                                   : largest;
      index[a * after + c] = static_cast<double>(where);
    }
  return kind == Reduction::max ? Arrays{y, index} : Arrays{y};
}

Case reduce_case(Reduction kind, const Shape& x, int axis) {
  constexpr const char* kNames[] = {"sum", "mean", "max"};
  std::string name = kNames[static_cast<int>(kind)];
  for (std::int64_t dim : x) name += fmt::format("_{}", dim);
  return {
      .name = name + fmt::format("_axis_{}", axis),
      .inputs = {kind == Reduction::max ? distinct(x) : reals(x)},
      .run = [kind, axis](std::span<const Tensor> in) -> Tensors {
        if (kind == Reduction::sum) return {ops::sum(in[0], axis)};
        if (kind == Reduction::mean) return {ops::mean(in[0], axis)};
        const ops::Maximum maximum = ops::max(in[0], axis);
        return {maximum.value, maximum.index};
      },
      .reference = [kind, axis](std::span<const Array> in) { return reduce_reference(kind, in[0], axis); },
      .differentiable = 1,
  };
}

}  // namespace

static void add_reduce_cases(std::vector<Case>& cases) {
  for (Reduction kind : {Reduction::sum, Reduction::mean, Reduction::max}) {
    for (int axis : {0, 1, 2}) cases.push_back(reduce_case(kind, {3, 5, 17}, axis));
    cases.push_back(reduce_case(kind, {33}, 0));
    cases.push_back(reduce_case(kind, {1, 1}, 1));
    cases.push_back(reduce_case(kind, {0, 5}, 1));
    cases.push_back(reduce_case(kind, {2, 3, 2, 3, 9}, 2));
    cases.push_back(reduce_case(kind, {130, 3}, 0));
    cases.push_back(reduce_case(kind, {3, 131}, 1));
  }
  cases.push_back(reduce_case(Reduction::sum, {3, 0, 4}, 1));  // a sum of nothing is 0
  cases.push_back(reduce_case(Reduction::sum, {301, 70}, 0));
  cases.push_back(reduce_case(Reduction::mean, {2, 1037}, 1));

  for (const auto& [size, rows, width] : {std::tuple{Case::Size::base, 1024, 2048}, {Case::Size::large, 65536, 3072}})
    for (int axis : {0, 1}) {
      Case one = reduce_case(Reduction::sum, {rows, width}, axis);
      one.size = size;
      one.forward.elements = one.backward.elements = static_cast<double>(rows) * width;
      cases.push_back(one);
    }
}

const CaseList kReduceCases("reduce", add_reduce_cases);

}  // namespace attend::test
