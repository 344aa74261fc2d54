// Resizing of images, [B, H, W, C] -> [B, H', W', C], and its gradient.
#include "attend/ops/resize.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/gradient.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

Tensor resize(const Tensor& x, const Extent2& size, const Resizing& options) {
  check_floats("resize", {x});
  check_contiguous("resize", {x});
  check(x.rank() == 4, "resize: wants images [B, H, W, C], not {}", x.shape());
  check(x.dim(1) > 0 && x.dim(2) > 0 && size.h > 0 && size.w > 0, "resize: from {} to {} x {}", x.shape(), size.h,
        size.w);
  check(options.mode != ResizeMode::nearest || !options.align_corners, "resize: nearest has no corners to align");
  const Tensor y = like(x, {x.dim(0), size.h, size.w, x.dim(3)});
  x.backend().resize(options, x, y);
  return record(y, {x}, [to = Target(x), options](const Tensor& dy, Grads& grad) {
    write_gradient(grad, to, dy, [&](const Grad& dx) { dy.backend().resize_backward(options, dy, dx); });
  });
}

}  // namespace attend::ops
