// What the products of a weight that learns in 8 bits need besides the weight: the units of all that is multiplied.
#pragma once

#include "attend/tensor/backend.h"

namespace attend {

struct Products8 {
  Units8 x{.format = Float8::e4m3}, weight{.format = Float8::e4m3};
  Units8 dy{.format = Float8::e5m2};  // gradients: more reach, fewer digits
};

}  // namespace attend
