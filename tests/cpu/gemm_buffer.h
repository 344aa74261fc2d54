// Operands for the tests of the matrix product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/base/random.h"

namespace attend::test {

// A matrix in a buffer of its own with a stride, one element off alignment, guarded by a known value all around.
struct Buffer {
  std::int64_t rows, cols, stride;
  DType dtype;
  std::vector<float> values;     // rows x stride, rounded to dtype
  std::vector<std::byte> bytes;  // what the product sees

  Buffer(std::int64_t rows, std::int64_t cols, DType dtype, std::uint32_t stream, std::int64_t pad = 3)
      : rows(rows), cols(cols), stride(cols + pad), dtype(dtype) {
    values.resize(static_cast<std::size_t>(rows * stride + 1));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float x = to_unit(random_word(7, stream, i)) * 2 - 1;
      values[i] = dtype == DType::bf16 ? static_cast<float>(Bf16(x)) : x;
    }
    bytes.resize(values.size() * bytes_of(dtype));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Bf16 half(values[i]);
      std::memcpy(bytes.data() + i * bytes_of(dtype),
                  dtype == DType::bf16 ? static_cast<const void*>(&half) : &values[i], bytes_of(dtype));
    }
  }
  void* data() { return bytes.data() + bytes_of(dtype); }  // element 0 is one past the start
  double at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * stride + j + 1)]; }
  double now(std::int64_t i, std::int64_t j) const {
    const std::byte* p = bytes.data() + static_cast<std::size_t>(i * stride + j + 1) * bytes_of(dtype);
    if (dtype == DType::bf16) {
      Bf16 half;
      std::memcpy(&half, p, 2);
      return half;
    }
    float x;
    std::memcpy(&x, p, 4);
    return x;
  }
};

}  // namespace attend::test
