// The hinge losses of adversarial training (Lim & Ye 2017; Zhang et al. 2019, section 4), over scores of any shape.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// mean relu(1 - real) + mean relu(1 + fake), [1]
Tensor hinge_discriminator(const Tensor& real, const Tensor& fake);
// -mean fake, [1]
Tensor hinge_generator(const Tensor& fake);

}  // namespace attend::ops
