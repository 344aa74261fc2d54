// Maximum and average pooling. The maximum keeps the index of each winner, i32 [B, H', W', C], for backward.
#include "attend/ops/pooling.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

Tensor pooled(const char* op, const Tensor& x, const Pooling& args, const Extent2& size) {
  check(x.dim(1) > 0 && x.dim(2) > 0 && size.h > 0 && size.w > 0,
        "{}: from {} to {} x {} places; a window does not fit, or is empty", op, x.shape(), size.h, size.w);
  const bool max = args.kind == PoolKind::max;
  const Tensor y = like(x, {x.dim(0), size.h, size.w, x.dim(3)});  // [B, H', W', C]
  const Tensor index = max && recorded({x}) ? like(y, y.shape(), DType::i32) : Tensor();
  x.backend().pooling(args, x, y, index);
  return record(y, {x}, [to = Target(x), index, args](const Tensor& dy, Grads& grad) {
    if (const Grad dx = grad(to)) dy.backend().pooling_backward(args, dy, index, dx);
  });
}

void check_image(const char* op, const Tensor& x) {
  check_floats(op, {x});
  check_contiguous(op, {x});
  check(x.rank() == 4, "{}: wants images [B, H, W, C], not {}", op, x.shape());
}

Tensor windowed(const char* op, const Tensor& x, PoolKind kind, const PoolOptions& options) {
  check_image(op, x);
  const auto& [kernel, stride, padding, counts_padding] = options;
  check(kernel.h > 0 && kernel.w > 0 && stride.h > 0 && stride.w > 0, "{}: a window of {} x {} with stride {} x {}", op,
        kernel.h, kernel.w, stride.h, stride.w);
  check(padding.h >= 0 && padding.w >= 0 && 2 * padding.h <= kernel.h && 2 * padding.w <= kernel.w,
        "{}: the padding, {} x {}, must be at most half of the window, {} x {}", op, padding.h, padding.w, kernel.h,
        kernel.w);
  return pooled(op, x, {kind, kernel, stride, padding, counts_padding},
                {images::windows(x.dim(1), kernel.h, stride.h, padding.h),
                 images::windows(x.dim(2), kernel.w, stride.w, padding.w)});
}

}  // namespace

Tensor max_pool2d(const Tensor& x, const PoolOptions& options) {
  return windowed("max_pool2d", x, PoolKind::max, options);
}

Tensor avg_pool2d(const Tensor& x, const PoolOptions& options) {
  return windowed("avg_pool2d", x, PoolKind::average, options);
}

Tensor adaptive_avg_pool2d(const Tensor& x, const Extent2& size) {
  check_image("adaptive_avg_pool2d", x);
  return pooled("adaptive_avg_pool2d", x, {.kind = PoolKind::adaptive}, size);
}

}  // namespace attend::ops
