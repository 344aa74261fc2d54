// A parameter computed in bf16 collects its gradient in f32. Kernels that write weight gradients take that; for the
// others the gradient is made in the dtype of dy first and added from there.
#pragma once

#include <utility>

#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"

namespace attend::ops {

// write(Grad) with the gradient of x in dy's dtype; nothing when x wants none.
template <class Write>
void write_gradient(Grads& grads, const Target& x, const Tensor& dy, Write&& write) {
  const Grad dx = grads(x);
  if (!dx) return;
  if (dx.into.dtype() == dy.dtype()) return std::forward<Write>(write)(dx);
  const Tensor own = like(dy, x.shape(), dy.dtype());
  std::forward<Write>(write)(Grad{own});
  dy.backend().scale(own, 1, dx);
}

}  // namespace attend::ops
