// Kernels that are written once for f32 and bf16 and leave vectors to the compiler.
#pragma once

#include <cstdint>

#include "attend/base/dtype.h"
#include "attend/base/error.h"
#include "attend/tensor/tensor.h"

namespace attend::cpu {

// body(float{}) or body(Bf16{}).
template <class Body>
void with_element(DType dtype, const char* op, Body&& body) {
  if (dtype == DType::f32)
    body(float{});
  else if (dtype == DType::bf16)
    body(Bf16{});
  else
    fail("{}: cpu: {} is not a float dtype", op, dtype);
}

// to[i] = scale · from[i], or added to it.
template <class T>
void put(const float* from, float scale, T* to, std::int64_t n, bool accumulate) {
  if (accumulate)
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(static_cast<float>(to[i]) + scale * from[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(scale * from[i]);
}

}  // namespace attend::cpu
