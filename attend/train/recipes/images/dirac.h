// Convolutions that begin as copies (Jordan 2024, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU", section 3.3, after
// Zagoruyko & Komodakis 2017): the first filters of every convolution of a ResNet9, one per input channel, give the
// channel itself. The others stay random.
#pragma once

#include "attend/nn/parameters.h"

namespace attend::train {

// Other models stay as they are.
void copy_channels(nn::Parameters& parameters);

}  // namespace attend::train
