// A bf16 parameter accumulates its gradient in f32. Kernels for weight gradients write f32 directly. For other kernels
// the gradient is computed in dy's dtype first, then added.
#pragma once

#include <utility>

#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"

namespace attend::ops {

// Calls write(Grad) with a gradient of x in dy's dtype; does nothing if x wants none.
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
