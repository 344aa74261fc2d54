// Convolution and transposed convolution. Special windows become matrix products, which are faster.
#include "attend/ops/convolution.h"

#include "attend/base/error.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/checks.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_window(const char* op, const Tensor& x, const Tensor& weight, const Convolution& args) {
  check_floats(op, {x, weight});
  check_contiguous(op, {x, weight});
  check(x.rank() == 4, "{}: wants images [B, H, W, C], not {}", op, x.shape());
  check(weight.rank() == 4, "{}: wants a weight of four axes, [.., kh, kw, ..], not {}", op, weight.shape());
  check(args.stride.h > 0 && args.stride.w > 0, "{}: the stride is {} x {}", op, args.stride.h, args.stride.w);
  check(args.dilation.h > 0 && args.dilation.w > 0, "{}: the dilation is {} x {}", op, args.dilation.h,
        args.dilation.w);
  check(args.padding.h >= 0 && args.padding.w >= 0, "{}: the padding is {} x {}", op, args.padding.h, args.padding.w);
  check(args.groups > 0, "{}: {} groups", op, args.groups);
  check(weight.dim(1) > 0 && weight.dim(2) > 0, "{}: the weight {} has an empty window", op, weight.shape());
}

// [B, H', W', O]
Shape result_shape(const Tensor& x, const Tensor& weight, const Convolution& args) {
  const std::int64_t h = images::windows(x.dim(1), weight.dim(1), args.stride.h, args.padding.h, args.dilation.h);
  const std::int64_t w = images::windows(x.dim(2), weight.dim(2), args.stride.w, args.padding.w, args.dilation.w);
  check(h > 0 && w > 0, "conv2d: the image {} with padding {} x {} is smaller than a window of {} x {}", x.shape(),
        args.padding.h, args.padding.w, weight.dim(1), weight.dim(2));
  return {x.dim(0), h, w, weight.dim(0)};
}

// A 1 x 1 convolution with stride 1 is a product of [B·H·W, C] and [C, O].
bool is_product(const Tensor& weight, const Convolution& args) {
  return weight.dim(1) == 1 && weight.dim(2) == 1 && args.groups == 1 && args.stride.h == 1 && args.stride.w == 1 &&
         args.padding.h == 0 && args.padding.w == 0;
}

// Windows that lie side by side, as ViT's patches do: each place is read once, and cutting the image is a permutation.
bool is_patches(const Tensor& x, const Tensor& weight, const Convolution& args) {
  return args.groups == 1 && args.stride.h == weight.dim(1) && args.stride.w == weight.dim(2) && args.padding.h == 0 &&
         args.padding.w == 0 && args.dilation.h == 1 && args.dilation.w == 1 && x.dim(1) % args.stride.h == 0 &&
         x.dim(2) % args.stride.w == 0;
}

Tensor patches_product(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  const std::int64_t kh = weight.dim(1), kw = weight.dim(2), row = kw * x.dim(3);
  const std::int64_t B = x.dim(0), down = x.dim(1) / kh, across = x.dim(2) / kw;
  // [B, down, across, kh, kw·C]
  const Tensor patches = permute(x.reshape({B, down, kh, across, row}), {0, 1, 3, 2, 4});
  return linear(patches.reshape({B, down, across, kh * row}), weight.reshape({weight.dim(0), kh * row}), bias,
                {.activation = activation});
}

// The bias gradient is the sum of dy over all places: [B, H', W', O] -> [O].
void sum_to_bias(const Tensor& dy, const Target& bias, Grads& grad) {
  if (const Grad dbias = grad(bias))
    dy.backend().reduce(Reduction::sum, dy.reshape({1, dy.rows(), dy.width()}),
                        {dbias.into.reshape({1, dy.width()}), dbias.accumulate}, {});
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Convolution& args, Activation kind,
              const Tensor& residual) {
  check_window("conv2d", x, weight, args);
  check_floats("conv2d", {x, bias});
  check(weight.dim(3) * args.groups == x.dim(3) && weight.dim(0) % args.groups == 0,
        "conv2d: x is {} and there are {} groups, so weight must be [O, kh, kw, {}] with O a multiple of {}, not {}",
        x.shape(), args.groups, x.dim(3) / args.groups, args.groups, weight.shape());
  check(!bias.defined() || bias.shape() == Shape{weight.dim(0)}, "conv2d: weight is {}, so bias must be [{}], not {}",
        weight.shape(), weight.dim(0), bias.defined() ? bias.shape() : Shape{});
  // The CPU's product adds the residual, too.
  const bool adds = is_product(weight, args) && x.backend().on_host() && !recorded({x, weight, bias, residual});
  if (residual.defined() && !adds) {
    const Tensor sum = add(conv2d(x, weight, bias, args), residual);
    return kind == Activation::none ? sum : activation(sum, kind);
  }
  if (is_product(weight, args))
    return linear(x, weight.reshape({weight.dim(0), weight.dim(3)}), bias, {.activation = kind, .residual = residual});
  if (is_patches(x, weight, args)) return patches_product(x, weight, bias, kind);
  // Backward needs the input of the activation, so training keeps the two ops apart.
  if (kind != Activation::none && recorded({x, weight, bias})) return activation(conv2d(x, weight, bias, args), kind);
  const Tensor y = like(lead({&x, &weight}), result_shape(x, weight, args));  // [B, H', W', O]
  x.backend().convolution(args, x, weight, bias, kind, {y});
  return record(y, {x, weight, bias}, [x, weight, to_bias = Target(bias), args](const Tensor& dy, Grads& grad) {
    sum_to_bias(dy, to_bias, grad);
    if (const Grad dx = grad(x)) dy.backend().convolution_input(args, dy, weight, dx);
    if (const Grad dweight = grad(weight)) dy.backend().convolution_weight(args, x, dy, dweight);
  });
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const TransposedConvolution& options) {
  const Convolution args = options.window;
  check_window("conv_transpose2d", x, weight, args);
  check(weight.dim(0) == x.dim(3) && x.dim(3) % args.groups == 0,
        "conv_transpose2d: x is {} and there are {} groups, so weight must be [{}, kh, kw, O / groups], not {}",
        x.shape(), args.groups, x.dim(3), weight.shape());
  const auto size = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                       std::int64_t dilation, std::int64_t more) {
    return (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
  };
  const std::int64_t h =
      size(x.dim(1), weight.dim(1), args.stride.h, args.padding.h, args.dilation.h, options.output_padding.h);
  const std::int64_t w =
      size(x.dim(2), weight.dim(2), args.stride.w, args.padding.w, args.dilation.w, options.output_padding.w);
  check(h > 0 && w > 0, "conv_transpose2d: the result of {} with padding {} x {} is empty", x.shape(), args.padding.h,
        args.padding.w);
  check(images::windows(h, weight.dim(1), args.stride.h, args.padding.h, args.dilation.h) == x.dim(1) &&
            images::windows(w, weight.dim(2), args.stride.w, args.padding.w, args.dilation.w) == x.dim(2),
        "conv_transpose2d: an output padding of {} x {} must be smaller than the stride, {} x {}",
        options.output_padding.h, options.output_padding.w, args.stride.h, args.stride.w);
  const Tensor y = like(lead({&x, &weight}), {x.dim(0), h, w, weight.dim(3) * args.groups});
  // Forward is conv2d's gradient of the input, and backward is conv2d itself.
  x.backend().convolution_input(args, x, weight, {y});
  record(y, {x, weight}, [x, weight, args](const Tensor& dy, Grads& grad) {
    if (const Grad dx = grad(x)) dy.backend().convolution(args, dy, weight, {}, Activation::none, dx);
    if (const Grad dweight = grad(weight)) dy.backend().convolution_weight(args, dy, x, dweight);
  });
  return bias.defined() ? add(y, bias) : y;
}

}  // namespace attend::ops
