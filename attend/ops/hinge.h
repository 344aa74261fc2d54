// Hinge losses of adversarial training (Lim & Ye 2017; Zhang et al. 2019, section 3), for scores of any shape.
#pragma once

#include "attend/tensor/tensor.h"

namespace attend::ops {

// The discriminator's loss: mean relu(1 - real) + mean relu(1 + fake), [1].
Tensor hinge_discriminator(const Tensor& real, const Tensor& fake);
// The generator's loss: -mean fake, [1].
Tensor hinge_generator(const Tensor& fake);

}  // namespace attend::ops
