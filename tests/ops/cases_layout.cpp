// slice, concat, permute, split, split_heads, merge_heads, contiguous.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "attend/ops/layout.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

std::string named(std::string name, const Shape& shape) {
  for (std::int64_t dim : shape) name += fmt::format("_{}", dim);
  return name;
}

// A shape seen from one axis: [before, N, after].
struct Folded {
  std::int64_t before = 1, after = 1;
  Folded(const Shape& shape, int axis) {
    for (int i = 0; i < shape.rank(); ++i)
      if (i != axis) (i < axis ? before : after) *= shape[i];
  }
};

Case slice_case(const Shape& x, int axis, std::int64_t begin, std::int64_t count) {
  Shape y = x;
  y.set(axis, count);
  return {
      .name = named("slice", x) + fmt::format("_axis_{}_from_{}_take_{}", axis, begin, count),
      .inputs = {reals(x)},
      .run = [=](std::span<const Tensor> in) { return Tensors{ops::slice(in[0], axis, begin, count)}; },
      .reference =
          [=](std::span<const Array> in) {
            Array out(y);
            const Folded folded(x, axis);
            for (std::int64_t a = 0; a < folded.before; ++a)
              for (std::int64_t n = 0; n < count; ++n)
                for (std::int64_t c = 0; c < folded.after; ++c)
                  out[(a * count + n) * folded.after + c] = in[0][(a * x[axis] + begin + n) * folded.after + c];
            return Arrays{out};
          },
  };
}

// Parts that are equal but for the axis; extents are the parts' sizes there.
Case concat_case(const Shape& shape, int axis, std::vector<std::int64_t> extents) {
  std::string name = named("concat", shape) + fmt::format("_axis_{}_of", axis);
  std::vector<Input> inputs;
  std::int64_t total = 0;
  for (std::int64_t extent : extents) {
    Shape part = shape;
    part.set(axis, extent);
    inputs.push_back(inputs.size() == 1 ? weights(part) : reals(part));
    name += fmt::format("_{}", extent);
    total += extent;
  }
  return {
      .name = name,
      .inputs = std::move(inputs),
      .run = [axis](std::span<const Tensor> in) { return Tensors{ops::concat(in, axis)}; },
      .reference =
          [=](std::span<const Array> in) {
            Shape whole = shape;
            whole.set(axis, total);
            Array out(whole);
            const Folded folded(whole, axis);
            std::int64_t begin = 0;
            for (const Array& part : in) {
              const std::int64_t extent = part.dim(axis);
              for (std::int64_t a = 0; a < folded.before; ++a)
                for (std::int64_t n = 0; n < extent; ++n)
                  for (std::int64_t c = 0; c < folded.after; ++c)
                    out[(a * total + begin + n) * folded.after + c] = part[(a * extent + n) * folded.after + c];
              begin += extent;
            }
            return Arrays{out};
          },
  };
}

Array permuted(const Array& x, std::span<const int> order) {
  const int rank = x.shape.rank();
  Shape shape;
  for (int axis : order) shape.append(x.dim(axis));
  Array y(shape);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::int64_t index[Shape::kMaxRank] = {}, rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      index[order[static_cast<std::size_t>(axis)]] = rest % shape[axis];
      rest /= shape[axis];
    }
    std::int64_t from = 0;
    for (int axis = 0; axis < rank; ++axis) from = from * x.dim(axis) + index[axis];
    y[i] = x[from];
  }
  return y;
}

template <int Rank>
Case permute_case(const Shape& x, std::array<int, Rank> order) {
  std::string name = named("permute", x) + "_by";
  for (int axis : order) name += fmt::format("_{}", axis);
  return {
      .name = name,
      .inputs = {reals(x)},
      .run =
          [order](std::span<const Tensor> in) {
            if constexpr (Rank == 2) return Tensors{ops::permute(in[0], {order[0], order[1]})};
            if constexpr (Rank == 3) return Tensors{ops::permute(in[0], {order[0], order[1], order[2]})};
            if constexpr (Rank == 4) return Tensors{ops::permute(in[0], {order[0], order[1], order[2], order[3]})};
            if constexpr (Rank == 6)
              return Tensors{ops::permute(in[0], {order[0], order[1], order[2], order[3], order[4], order[5]})};
          },
      .reference = [order](std::span<const Array> in) { return Arrays{permuted(in[0], order)}; },
  };
}

Array part_of(const Array& x, int parts, int part) {
  const std::int64_t width = x.width() / parts;
  Array y(x.shape.with_last(width));
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t c = 0; c < width; ++c) y.at(r, c) = x.at(r, part * width + c);
  return y;
}

// The parts named in `used`; the others get no gradient.
template <int N>
Case split_case(const Shape& x, std::vector<int> used) {
  std::string name = named(fmt::format("split_into_{}", N), x) + "_use";
  for (int part : used) name += fmt::format("_{}", part);
  return {
      .name = name,
      .inputs = {reals(x)},
      .run =
          [used](std::span<const Tensor> in) {
            const auto parts = ops::split<N>(in[0]);
            Tensors chosen;
            for (int part : used) chosen.push_back(parts[static_cast<std::size_t>(part)]);
            return chosen;
          },
      .reference =
          [used](std::span<const Array> in) {
            Arrays chosen;
            for (int part : used) chosen.push_back(part_of(in[0], N, part));
            return chosen;
          },
  };
}

// A part of a part, and a copy of a part without its gaps.
Case nested_split_case(const Shape& x) {
  return {
      .name = named("split_of_split", x),
      .inputs = {reals(x)},
      .run =
          [](std::span<const Tensor> in) {
            const auto halves = ops::split<2>(in[0]);
            return Tensors{ops::split<3>(halves[1])[1], ops::contiguous(halves[0])};
          },
      .reference =
          [](std::span<const Array> in) {
            return Arrays{part_of(part_of(in[0], 2, 1), 3, 1), part_of(in[0], 2, 0)};
          },
  };
}

Case heads_case(const Shape& x, std::int64_t heads) {
  return {
      .name = named("split_heads", x) + fmt::format("_by_{}", heads),
      .inputs = {reals(x)},
      .run = [heads](std::span<const Tensor> in) { return Tensors{ops::split_heads(in[0], heads)}; },
      .reference =
          [heads](std::span<const Array> in) {
            const Array& x = in[0];
            const int order[] = {0, 2, 1, 3};
            return Arrays{permuted(x.reshaped({x.dim(0), x.dim(1), heads, x.dim(2) / heads}), order)};
          },
  };
}

Case merge_case(const Shape& x) {
  return {
      .name = named("merge_heads", x),
      .inputs = {reals(x)},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::merge_heads(in[0])}; },
      .reference =
          [x](std::span<const Array> in) {
            const int order[] = {0, 2, 1, 3};
            return Arrays{permuted(in[0], order).reshaped({x[0], x[2], x[1] * x[3]})};
          },
  };
}

}  // namespace

static void add_layout_cases(std::vector<Case>& cases) {
  cases.push_back(slice_case({5, 17}, 0, 1, 3));
  cases.push_back(slice_case({5, 17}, 1, 4, 9));
  cases.push_back(slice_case({3, 5, 7}, 1, 2, 2));
  cases.push_back(slice_case({3, 5, 7}, 2, 6, 1));
  cases.push_back(slice_case({3, 5, 7}, 1, 5, 0));
  cases.push_back(slice_case({33}, 0, 3, 20));
  cases.push_back(slice_case({2, 3, 2, 3, 2, 5}, 3, 1, 2));
  cases.push_back(concat_case({2, 3, 5}, 0, {1, 3}));
  cases.push_back(concat_case({2, 3, 5}, 1, {2, 1, 4}));
  cases.push_back(concat_case({2, 3, 5}, 2, {17, 1, 3}));
  cases.push_back(concat_case({4, 9}, 1, {9, 0}));
  cases.push_back(concat_case({7}, 0, {7}));
  cases.push_back(permute_case<2>({17, 33}, {1, 0}));
  cases.push_back(permute_case<3>({3, 5, 7}, {2, 0, 1}));
  cases.push_back(permute_case<3>({3, 5, 19}, {1, 0, 2}));
  cases.push_back(permute_case<4>({2, 3, 5, 9}, {0, 2, 1, 3}));
  cases.push_back(permute_case<4>({0, 3, 5, 9}, {3, 2, 1, 0}));
  cases.push_back(permute_case<6>({2, 3, 2, 3, 2, 5}, {0, 1, 3, 2, 4, 5}));
  cases.push_back(permute_case<2>({67, 130}, {1, 0}));
  cases.push_back(split_case<2>({3, 18}, {0, 1}));
  cases.push_back(split_case<2>({3, 18}, {1}));
  cases.push_back(split_case<3>({2, 5, 51}, {0, 1, 2}));
  cases.push_back(split_case<3>({2, 5, 51}, {0, 2}));
  cases.push_back(split_case<3>({33}, {2}));
  cases.push_back(split_case<3>({0, 9}, {0, 1, 2}));
  cases.push_back(nested_split_case({5, 18}));
  cases.push_back(heads_case({2, 3, 35}, 5));
  cases.push_back(heads_case({2, 17, 24}, 1));
  cases.push_back(merge_case({2, 5, 3, 7}));
  cases.push_back(merge_case({1, 1, 17, 3}));

  Case one = heads_case({8, 128, 512}, 8);
  one.size = Case::Size::base;
  one.forward.elements = one.backward.elements = 2.0 * 8 * 128 * 512;
  cases.push_back(one);
  one = heads_case({64, 1024, 768}, 12);
  one.size = Case::Size::large;
  one.forward.elements = one.backward.elements = 2.0 * 64 * 1024 * 768;
  cases.push_back(one);
}

const CaseList kLayoutCases("layout", add_layout_cases);

}  // namespace attend::test
