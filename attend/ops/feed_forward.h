// The position-wise feed-forward network (Vaswani et al. 2017, section 3.3): y = f(x W₁ᵀ + b₁) W₂ᵀ + b₂. It is one op,
// so that backward through W₂ and f can be one kernel; no other op reads the tensor between them.
#pragma once

#include "attend/ops/linear.h"

namespace attend::ops {

struct Projection {
  Tensor weight, bias;
};

//   x [.., I]   expand: [H, I], [H]   contract: [O, H], [O]   ->   [.., O];   no residual
Tensor feed_forward(const Tensor& x, const Projection& expand, const Projection& contract,
                    const LinearOptions& options);

}  // namespace attend::ops
