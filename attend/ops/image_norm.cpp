// Batch norm and group norm. Batch norm is group norm of one image with one group per channel.
#include "attend/ops/image_norm.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/shared_batch_norm.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_image_norm(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_floats(op, {x, weight, bias});
  check_contiguous(op, {x, weight, bias});
  const Shape width{x.width()};
  for (const Tensor& each : {weight, bias})
    check(!each.defined() || each.shape() == width, "{}: x is {}, so weight and bias must be {}, not {}", op, x.shape(),
          width, each.defined() ? each.shape() : Shape{});
}

// x is viewed as [images, places, C].
Tensor norm(const char* op, const Tensor& x, GroupNorm args, std::int64_t images) {
  check_image_norm(op, x, args.weight, args.bias);
  check(args.groups > 0 && x.width() % args.groups == 0, "{}: {} channels do not divide into {} groups", op, x.width(),
        args.groups);
  const std::int64_t places = images > 0 ? x.rows() / images : 0;
  const Shape folded{images, places, x.width()};
  args.x = x.reshape(folded);
  const Tensor y = like(lead({&x, &args.weight}), x.shape());
  const Tensor mean = like(y, {images, args.groups}, DType::f32), rstd = like(mean);  // [images, groups]
  x.backend().group_norm(args, y.reshape(folded), mean, rstd);
  return record(y, {x, args.weight, args.bias}, [args, mean, rstd, folded](const Tensor& dy, Grads& grad) {
    Grad dx = grad(args.x);
    if (dx) dx.into = dx.into.reshape(folded);
    dy.backend().group_norm_backward(args, dy.reshape(folded), mean, rstd, dx, grad(args.weight), grad(args.bias));
  });
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const RunningStatistics& running,
                  const BatchNormOptions& options) {
  check(x.defined() && x.rank() >= 2, "batch_norm: wants [B, .., C], not {}", x.defined() ? x.shape() : Shape{});
  check(running.mean.defined() == running.variance.defined(),
        "batch_norm: only one of the running statistics is there");
  check(!options.frozen || running.mean.defined(), "batch_norm: frozen, but there are no running statistics");
  for (const Tensor& each : {running.mean, running.variance})
    check(!each.defined() || (each.dtype() == DType::f32 && each.shape() == Shape{x.width()}),
          "batch_norm: x is {}, so running statistics must be f32 [{}], not {}", x.shape(), x.width(),
          each.defined() ? each.shape() : Shape{});
  if (BatchSums* const sums = x.pass() && x.pass()->recording() && !options.frozen ? x.pass()->batch_sums() : nullptr) {
    check_image_norm("batch_norm", x, weight, bias);
    return shared_batch_norm(x, weight, bias, running, options, *sums);
  }
  check(options.frozen || x.rows() > 1, "batch_norm: a batch of one value a channel, {}, has no variance", x.shape());
  GroupNorm args{.x = {}, .weight = weight, .bias = bias, .groups = x.width(), .eps = options.eps};
  // A recomputed forward must not move the running statistics a second time.
  const bool moves = !(x.pass() && x.pass()->replaying());
  if (options.frozen || moves) args.running_mean = running.mean, args.running_variance = running.variance;
  args.momentum = options.momentum, args.frozen = options.frozen;
  return norm("batch_norm", x, args, 1);
}

Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t groups, float eps) {
  check(x.defined() && x.rank() >= 2, "group_norm: wants [B, .., C], not {}", x.defined() ? x.shape() : Shape{});
  return norm("group_norm", x, {.x = {}, .weight = weight, .bias = bias, .groups = groups, .eps = eps}, x.dim(0));
}

}  // namespace attend::ops
