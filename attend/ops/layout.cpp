// Split, slice, concat and permute. All but split are one strided copy, and so is their backward.
#include "attend/ops/layout.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/gradient.h"
#include "attend/ops/walks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

template <int N>
std::array<Tensor, N> split(const Tensor& x) {
  check(x.defined() && x.rank() >= 1 && x.dim(-1) % N == 0, "split: {} does not divide into {} parts",
        x.defined() ? x.shape() : Shape{}, N);
  const std::int64_t width = x.dim(-1) / N;
  std::array<Tensor, N> parts;
  if (!x.pass()) {
    for (int i = 0; i < N; ++i) parts[i] = x.columns(i * width, width);
    return parts;
  }
  // Each part is its own record over the same memory; `whole` will hold their common gradient.
  const Memory whole = x.pass()->alias(x);
  whole->asks_for_sums = x.storage()->asks_for_sums;
  for (int i = 0; i < N; ++i) {
    parts[i] = Tensor(x.pass()->alias(x), x.columns(i * width, width).window());
    parts[i].storage()->whole = whole;
  }
  const auto backward = [x, whole, width](std::span<const Tensor> dys, Grads& grad) {
    Tensor dx(std::exchange(whole->gradient, Memory()), x.window());
    // Parts that nothing used have no gradient, so theirs is 0.
    for (int i = 0; i < N; ++i)
      if (!dys[static_cast<std::size_t>(i)].defined()) x.backend().fill(dx.columns(i * width, width), 0);
    grad.give(x, dx);
  };
  if constexpr (N == 2) record_all({parts[0], parts[1]}, {x}, backward);
  if constexpr (N == 3) record_all({parts[0], parts[1], parts[2]}, {x}, backward);
  return parts;
}
template std::array<Tensor, 2> split<2>(const Tensor& x);
template std::array<Tensor, 3> split<3>(const Tensor& x);

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t count) {
  const int at = check_axis("slice", x, axis);
  check(begin >= 0 && begin <= x.dim(at) && count >= 0 && count <= x.dim(at) - begin,
        "slice: {} from {} on, of axis {} of {}", count, begin, at, x.shape());
  Shape shape = x.shape();
  shape.set(at, count);
  Tensor y = like(x, shape);
  x.backend().strided_copy(advanced(walk(x), at, begin), walk(y), shape, false);
  return record(y, {x}, [to = Target(x), at, begin](const Tensor& dy, Grads& grad) {
    Grad dx = grad(to);
    if (!dx) return;
    // Entries outside the slice get a gradient of 0.
    if (!dx.accumulate) dy.backend().fill(dx.into, 0);
    dy.backend().strided_copy(walk(dy), advanced(walk(dx.into), at, begin), dy.shape(), true);
  });
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  check(!parts.empty(), "concat: nothing to join");
  const Tensor& first = parts.front();
  const int at = check_axis("concat", first, axis);
  Shape shape = first.shape();
  std::int64_t total = 0;
  const Tensor* made = &first;
  for (const Tensor& part : parts) {
    check(part.defined() && part.rank() == first.rank() && part.dtype() == first.dtype() &&
              &part.backend() == &first.backend(),
          "concat: the parts differ in rank, dtype or device: {} {} and {}", first.dtype(), first.shape(),
          part.defined() ? part.shape() : Shape{});
    Shape expected = first.shape();
    expected.set(at, part.dim(at));
    check(part.shape() == expected, "concat: {} and {} differ beyond axis {}", first.shape(), part.shape(), at);
    total += part.dim(at);
    if (!made->pass()) made = &part;
  }
  shape.set(at, total);
  Tensor y = like(*made, shape);
  std::int64_t begin = 0;
  for (const Tensor& part : parts) {
    first.backend().strided_copy(walk(part), advanced(walk(y), at, begin), part.shape(), false);
    begin += part.dim(at);
  }
  const std::vector<Target> kept(parts.begin(), parts.end());
  // One input that wants a gradient is enough to record the op.
  const auto wanted = std::find_if(parts.begin(), parts.end(), [](const Tensor& part) { return Grads::wants(part); });
  return record(y, {wanted == parts.end() ? parts.front() : *wanted}, [kept, at](const Tensor& dy, Grads& grad) {
    std::int64_t from = 0;
    for (const Target& part : kept) {
      write_gradient(grad, part, dy, [&](const Grad& d) {
        dy.backend().strided_copy(advanced(walk(dy), at, from), walk(d.into), part.shape(), d.accumulate);
      });
      from += part.shape()[at];
    }
  });
}

Tensor permute(const Tensor& x, std::initializer_list<int> order) {
  check(x.defined() && static_cast<int>(order.size()) == x.rank(), "permute: {} axes in the order, but x is {}",
        order.size(), x.defined() ? x.shape() : Shape{});
  int axes[Shape::kMaxRank] = {};
  Shape shape;
  unsigned seen = 0;
  for (int axis : order) {
    const int at = check_axis("permute", x, axis);
    axes[shape.rank()] = at;
    shape.append(x.dim(at));
    seen |= 1u << at;
  }
  check(seen == (1u << x.rank()) - 1, "permute: the order names an axis twice");
  const auto permuted = [](const Tensor& tensor, const int* order_of) {
    const Walk plain = walk(tensor);
    Walk result = plain;
    for (int i = 0; i < tensor.rank(); ++i) result.strides[i] = plain.strides[order_of[i]];
    return result;
  };
  Tensor y = like(x, shape);
  x.backend().strided_copy(permuted(x, axes), walk(y), shape, false);
  const std::array<int, Shape::kMaxRank> kept{axes[0], axes[1], axes[2], axes[3], axes[4], axes[5]};
  return record(y, {x}, [to = Target(x), kept, permuted](const Tensor& dy, Grads& grad) {
    if (Grad dx = grad(to))
      dy.backend().strided_copy(walk(dy), permuted(dx.into, kept.data()), dy.shape(), dx.accumulate);
  });
}

Tensor contiguous(const Tensor& x) {
  if (x.contiguous()) return x;
  return slice(x, 0, 0, x.dim(0));
}

Tensor split_heads(const Tensor& x, std::int64_t heads) {
  check(x.rank() == 3 && heads > 0 && x.dim(2) % heads == 0, "split_heads: {} into {} heads", x.shape(), heads);
  // [B, T, H, D] -> [B, H, T, D]
  return permute(contiguous(x).reshape({x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

Tensor merge_heads(const Tensor& x) {
  check(x.rank() == 4, "merge_heads: wants [B, H, T, D], not {}", x.shape());
  // [B, H, T, D] -> [B, T, H·D]
  return permute(x, {0, 2, 1, 3}).reshape({x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

}  // namespace attend::ops
