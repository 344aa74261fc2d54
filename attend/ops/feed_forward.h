// The position-wise feed-forward network (Vaswani et al. 2017, section 3.3) as one op: y = f(x W₁ᵀ + b₁) W₂ᵀ + b₂. One
// op, so that the way back through W₂ and f can be one kernel: nobody else reads what lies between.
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
