// Every element of a tensor of any dtype set to one value.
#include <algorithm>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

template <class T>
void fill_rows(ThreadPool& pool, const Tensor& x, T value) {
  T* data = static_cast<T*>(x.raw());
  if (x.contiguous()) {
    cpu::for_rows(pool, x.size(), 1,
                  [&](std::int64_t begin, std::int64_t end) { std::fill(data + begin, data + end, value); });
    return;
  }
  cpu::for_rows(pool, x.rows(), x.width(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) std::fill_n(data + row * x.row_stride(), x.width(), value);
  });
}

}  // namespace

void CpuBackend::fill(const Tensor& x, float value) {
  switch (x.dtype()) {
    case DType::f32:
      return fill_rows(pool(), x, value);
    case DType::bf16:
      return fill_rows(pool(), x, Bf16(value));
    case DType::i32:
      return fill_rows(pool(), x, static_cast<std::int32_t>(value));
    case DType::i8:
      return fill_rows(pool(), x, static_cast<std::int8_t>(value));
    case DType::u8:
      return fill_rows(pool(), x, static_cast<std::uint8_t>(value));
  }
}

}  // namespace attend
