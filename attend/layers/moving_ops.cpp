// Ops that move or reduce numbers, ops for images, and ops of users.
#include <algorithm>
#include <cmath>
#include <utility>

#include "attend/layers/inner.h"
#include "attend/layers/ops.h"
#include "attend/ops/convolution.h"
#include "attend/ops/layout.h"
#include "attend/ops/pooling.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::layers {

namespace {

Convolution window_of(const Window2d& window) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  check(window.stride > 0 && window.padding >= 0 && window.dilation > 0 && window.groups > 0 &&
            std::max({window.stride, window.padding, window.dilation}) <= kMost,
        "conv2d: stride {}, padding {}, dilation {} and groups {}", window.stride, window.padding, window.dilation,
        window.groups);
  return {.stride = {window.stride, window.stride},
          .padding = {window.padding, window.padding},
          .dilation = {window.dilation, window.dilation},
          .groups = window.groups};
}

ops::PoolOptions pool_of(const char* op, const Tensor& x, std::int64_t size, std::int64_t stride,
                         std::int64_t padding) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  check(size > 0 && size <= kMost && stride > 0 && stride <= kMost && padding >= 0 && padding <= size / 2,
        "{}: size {}, stride {} and padding {}", op, size, stride, padding);
  check(x.rank() == 4, "{}: images are [B, height, width, C], not {}", op, x.shape());
  return {.kernel = {size, size}, .stride = {stride, stride}, .padding = {padding, padding}};
}

void check_axis(const char* op, const Tensor& x, int axis) {
  check(axis >= -x.rank() && axis < x.rank(), "{}: there is no axis {} in {}", op, axis, x.shape());
}

void check_float(const char* op, const Tensor& x) {
  check(is_float(x.dtype()), "{}: wants floats, but {} holds {}", op, x.shape(), x.dtype());
}

// permute() of the engine takes a list that is known when it is compiled.
Inner permuted(const Inner& x, std::span<const int> o) {
  switch (o.size()) {
    case 1:
      return x;
    case 2:
      return ops::permute(x, {o[0], o[1]});
    case 3:
      return ops::permute(x, {o[0], o[1], o[2]});
    case 4:
      return ops::permute(x, {o[0], o[1], o[2], o[3]});
    case 5:
      return ops::permute(x, {o[0], o[1], o[2], o[3], o[4]});
    default:
      return ops::permute(x, {o[0], o[1], o[2], o[3], o[4], o[5]});
  }
}

constexpr std::int64_t kMostSinusoids = std::int64_t{1} << 30;  // 4 GiB

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window2d& window) {
  const Inputs in("conv2d", {&x, &weight}, {&bias});
  check(x.rank() == 4 && weight.rank() == 4,
        "conv2d: x must be [B, height, width, C] and weight [O, kh, kw, C / groups], not {} and {}", x.shape(),
        weight.shape());
  return in.result(ops::conv2d(in.dense(0), in.dense(1), in.dense(2), window_of(window)));
}

Tensor max_pool2d(const Tensor& x, std::int64_t size, std::int64_t stride, std::int64_t padding) {
  const Inputs in("max_pool2d", {&x});
  return in.result(ops::max_pool2d(in.dense(0), pool_of("max_pool2d", x, size, stride, padding)));
}

Tensor avg_pool2d(const Tensor& x, std::int64_t size, std::int64_t stride, std::int64_t padding) {
  const Inputs in("avg_pool2d", {&x});
  return in.result(ops::avg_pool2d(in.dense(0), pool_of("avg_pool2d", x, size, stride, padding)));
}

Tensor sum(const Tensor& x, int axis) {
  const Inputs in("sum", {&x});
  return in.result(ops::sum(in.dense(0), axis));
}

Tensor mean(const Tensor& x, int axis) {
  const Inputs in("mean", {&x});
  return in.result(ops::mean(in.dense(0), axis));
}

Tensor max(const Tensor& x, int axis) {
  const Inputs in("max", {&x});
  return in.result(ops::max(in.dense(0), axis).value);
}

Tensor argmax(const Tensor& x, int axis) {
  const Inputs in("argmax", {&x});
  check_axis("argmax", x, axis);
  return in.result(ops::max(in.dense(0), axis).index, Range{0, static_cast<std::int32_t>(x.dim(axis) - 1)});
}

Tensor sum(const Tensor& x) { return sum(x.reshape(Shape{x.size()}), 0); }

Tensor mean(const Tensor& x) {
  check(x.size() > 0, "mean: {} holds no numbers", x.shape());
  return mean(x.reshape(Shape{x.size()}), 0);
}

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t count) {
  const Inputs in("slice", {&x});
  check_float("slice", x);
  return in.result(ops::slice(in.dense(0), axis, begin, count));
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  check(!parts.empty(), "concat: nothing to join");
  std::vector<Inner> dense;
  const Tensor* recorded = &parts.front();
  for (const Tensor& part : parts) {
    const Inputs in("concat", {&parts.front(), &part});
    check_float("concat", part);
    dense.push_back(in.dense(1));
    if (dense.back().pass()) recorded = &part;
  }
  for (const Tensor& part : parts) Inputs("concat", {recorded, &part});
  return Inputs("concat", {recorded}).result(ops::concat(dense, axis));
}

std::vector<Tensor> split(const Tensor& x, std::int64_t parts) {
  const Inputs in("split", {&x});
  check_float("split", x);
  check(parts > 0 && x.rank() > 0 && x.dim(-1) % parts == 0, "split: {} does not divide into {} parts", x.shape(),
        parts);
  std::vector<Tensor> all;
  if (parts == 2)
    for (const Inner& part : ops::split<2>(in.dense(0))) all.push_back(in.result(part));
  else if (parts == 3)
    for (const Inner& part : ops::split<3>(in.dense(0))) all.push_back(in.result(part));
  const std::int64_t width = x.dim(-1) / parts;
  for (auto i = static_cast<std::int64_t>(all.size()); i < parts; ++i) all.push_back(slice(x, -1, i * width, width));
  return all;
}

Tensor permute(const Tensor& x, std::span<const int> order) {
  const Inputs in("permute", {&x});
  check_float("permute", x);
  std::vector<int> sorted(order.begin(), order.end());
  std::ranges::sort(sorted);
  bool fits = static_cast<int>(order.size()) == x.rank() && x.rank() > 0;
  for (std::size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int>(i);
  check(fits, "permute: {} needs each of its {} axes once", x.shape(), x.rank());
  return in.result(permuted(in.dense(0), order));
}

Tensor transpose(const Tensor& x, int a, int b) {
  check_axis("transpose", x, a);
  check_axis("transpose", x, b);
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::swap(order[static_cast<std::size_t>(x.shape().index(a))], order[static_cast<std::size_t>(x.shape().index(b))]);
  return permute(x, order);
}

Tensor sinusoids(const Device& device, std::int64_t length, std::int64_t width) {
  check(length >= 0 && width > 0 && width % 2 == 0, "sinusoids: [{}, {}]; the width must be even", length, width);
  check(length <= kMostSinusoids / width, "sinusoids: [{}, {}] is too large", length, width);
  std::vector<double> rates;  // radians per position
  for (std::int64_t c = 0; c < width; c += 2)
    rates.push_back(1 / std::pow(10000.0, static_cast<double>(c) / static_cast<double>(width)));
  std::vector<float> values;
  for (std::int64_t p = 0; p < length; ++p)
    for (const double rate : rates) {
      const double angle = static_cast<double>(p) * rate;
      values.push_back(static_cast<float>(std::sin(angle)));
      values.push_back(static_cast<float>(std::cos(angle)));
    }
  return Tensor(device, {length, width}, values);
}

Tensor custom_op(std::span<const Tensor> inputs, const Tensor& y, Backward backward) {
  check(!inputs.empty() && backward, "custom_op: needs an input and a backward function");
  const Tensor* recorded = nullptr;
  std::vector<Target> targets;
  for (const Tensor& x : inputs) {
    const Inputs in("custom_op", {&inputs.front(), &x});
    targets.emplace_back(in[1]);
    if (Access::tape_of(x)) recorded = &x;
  }
  if (!recorded) return y;
  const std::shared_ptr<TapeState> tape = Access::tape_of(*recorded);
  const Inputs both("custom_op", {recorded, &y});
  check(!Access::tape_of(y), "custom_op: y {} is recorded already; compute it from detached tensors", y.shape());
  const Inner made = tape->pass->input(both[1]);
  bool wanted = false;
  for (const Target& target : targets) wanted |= Grads::wants(target);
  if (!wanted) return both.result(made);
  made.storage()->differentiable = true;
  // The closure holds no tensor of this tape but those that the user's function captures.
  const std::shared_ptr<Backend> backend = tape->backend;
  add_node(*tape->pass, std::span(&made, 1),
           [targets, backend, backward = std::move(backward)](std::span<Inner> dys, Grads& grads) {
             const Tensor dy = Access::make({backend, dys[0]});
             const std::vector<Tensor> dxs = backward(dy.detach());
             check(dxs.size() == targets.size(), "custom_op: backward returned {} gradients for {} inputs", dxs.size(),
                   targets.size());
             for (std::size_t i = 0; i < dxs.size(); ++i) {
               if (!dxs[i].defined()) continue;
               const Inner dx = Access::record("custom_op", dxs[i]).value;
               check(dx.shape() == targets[i].shape() && is_float(dx.dtype()),
                     "custom_op: input {} is {}, so its gradient must be too, not {} {}", i, targets[i].shape(),
                     dx.dtype(), dx.shape());
               if (const Grad into = grads(targets[i])) backend->scale(dx, 1, into);
             }
           });
  return both.result(made);
}

}  // namespace attend::layers
