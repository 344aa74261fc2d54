// Batch norm and group norm. Batch norm is group norm of one image with one group per channel.
#include "attend/ops/image_norm.h"

#include "attend/base/error.h"
#include "attend/ops/activation.h"
#include "attend/ops/checks.h"
#include "attend/ops/shared_batch_norm.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_image_norm(const char* op, const Tensor& x, const GroupNorm& args) {
  check_floats(op, {x, args.weight, args.bias, args.residual});
  check_contiguous(op, {x, args.weight, args.bias, args.residual});
  const Shape width{x.width()};
  for (const Tensor& each : {args.weight, args.bias})
    check(!each.defined() || each.shape() == width, "{}: x is {}, so weight and bias must be {}, not {}", op, x.shape(),
          width, each.defined() ? each.shape() : Shape{});
  check(!args.residual.defined() || args.residual.shape() == x.shape(), "{}: x is {}, but the residual is {}", op,
        x.shape(), args.residual.defined() ? args.residual.shape() : Shape{});
  check(args.groups > 0 && x.width() % args.groups == 0, "{}: {} channels do not divide into {} groups", op, x.width(),
        args.groups);
}

// x is viewed as [images, places, C]. sums: with whom a batch norm shares its statistics, or null.
Tensor norm(const char* op, const Tensor& x, GroupNorm args, std::int64_t images, BatchSums* sums = nullptr) {
  check_image_norm(op, x, args);
  const Shape folded{images, images > 0 ? x.rows() / images : 0, x.width()};
  const Tensor residual = args.residual;
  args.x = x.reshape(folded);
  if (residual.defined()) args.residual = residual.reshape(folded);
  const Tensor y = like(lead({&x, &args.weight, &residual}), x.shape()), flat = y.reshape(folded);
  const Tensor mean = like(y, {images, args.groups}, DType::f32), rstd = like(mean);  // [images, groups]
  if (sums)
    args = shared_batch_norm(args, flat, mean, rstd, *sums);
  else
    x.backend().group_norm(args, flat, mean, rstd);
  // Backward reads y instead of the residual, because the next op keeps it anyway.
  const Tensor kept = args.relu && residual.defined() ? flat : Tensor();
  args.residual = {};
  return record(y, {x, args.weight, args.bias, residual},
                [args, to = Target(residual), kept, mean, rstd, folded, sums](const Tensor& dy, Grads& grad) {
                  const Tensor behind = dy.reshape(folded), dsum = kept.defined() ? like(dy, folded) : Tensor();
                  Grad dx = grad(args.x);
                  if (dx) dx.into = dx.into.reshape(folded);
                  const Grad dweight = grad(args.weight), dbias = grad(args.bias);
                  if (sums)
                    shared_batch_norm_backward(args, kept, behind, mean, rstd, dx, dsum, dweight, dbias, *sums);
                  else
                    dy.backend().group_norm_backward(args, kept, behind, mean, rstd, dx, dsum, dweight, dbias);
                  grad.give(to, dsum.defined() ? dsum.reshape(dy.shape()) : dy);
                });
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const RunningStatistics& running,
                  const BatchNormOptions& options, Activation activation, const Tensor& residual) {
  if (activation != Activation::none && activation != Activation::relu)
    return ops::activation(batch_norm(x, weight, bias, running, options, Activation::none, residual), activation);
  check(x.defined() && x.rank() >= 2, "batch_norm: wants [B, .., C], not {}", x.defined() ? x.shape() : Shape{});
  check(running.mean.defined() == running.variance.defined(),
        "batch_norm: only one of the running statistics is there");
  check(!options.frozen || running.mean.defined(), "batch_norm: frozen, but there are no running statistics");
  for (const Tensor& each : {running.mean, running.variance})
    check(!each.defined() || (each.dtype() == DType::f32 && each.shape() == Shape{x.width()}),
          "batch_norm: x is {}, so running statistics must be f32 [{}], not {}", x.shape(), x.width(),
          each.defined() ? each.shape() : Shape{});
  BatchSums* const sums = x.pass() && x.pass()->recording() && !options.frozen ? x.pass()->batch_sums() : nullptr;
  check(options.frozen || x.rows() * (sums ? sums->processes() : 1) > 1,
        "batch_norm: a batch of one value a channel, {}, has no variance", x.shape());
  GroupNorm args{.x = {}, .weight = weight, .bias = bias, .groups = x.width(), .eps = options.eps};
  // A recomputed forward must not move the running statistics a second time.
  const bool moves = !(x.pass() && x.pass()->replaying());
  if (options.frozen || moves) args.running_mean = running.mean, args.running_variance = running.variance;
  args.momentum = options.momentum, args.frozen = options.frozen;
  args.residual = residual, args.relu = activation == Activation::relu;
  return norm("batch_norm", x, args, 1, sums);
}

Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t groups, float eps) {
  check(x.defined() && x.rank() >= 2, "group_norm: wants [B, .., C], not {}", x.defined() ? x.shape() : Shape{});
  return norm("group_norm", x, {.x = {}, .weight = weight, .bias = bias, .groups = groups, .eps = eps}, x.dim(0));
}

}  // namespace attend::ops
