// What every launch needs on the host side: the element type from a dtype, grid sizes, alignment.
#pragma once

#include <cstdint>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"
#include "attend/cuda/element.cuh"

namespace attend::cuda {

template <class T>
struct Type {
  using type = T;
};

// body(Type<float>{}) or body(Type<bf16>{}).
template <class Body>
void with_float(DType dtype, const char* op, Body&& body) {
  if (dtype == DType::f32)
    body(Type<float>{});
  else if (dtype == DType::bf16)
    body(Type<bf16>{});
  else
    fail("{}: cuda: {} is not a float dtype", op, dtype);
}

template <class T>
T* pointer(const Tensor& x) {
  return x.defined() ? static_cast<T*>(x.raw()) : nullptr;
}

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

inline unsigned blocks_for(std::int64_t work, std::int64_t each) {
  const std::int64_t blocks = divide_up(work, each);
  check(blocks <= 0x7fffffff, "cuda: {} elements are too many for one launch", work);
  return static_cast<unsigned>(blocks);
}

// Can 16-byte accesses be used on it? Undefined tensors do not object.
inline bool aligned16(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }
inline bool aligned16(const Tensor& x) { return !x.defined() || aligned16(x.raw()); }
// .. on each row of it?
inline bool rows_aligned16(const Tensor& x) {
  return !x.defined() || (aligned16(x.raw()) && (x.rows() <= 1 || x.row_stride() * bytes_of(x.dtype()) % 16 == 0));
}

inline std::size_t round_up_256(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace attend::cuda
