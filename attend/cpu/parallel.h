// How kernels cut their work: by its size alone, so that results do not depend on the number of threads, and into
// pieces large enough to be worth a parallel region, which costs a few microseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attend/base/random.h"
#include "attend/base/thread_pool.h"
#include "attend/cpu/rows/kernels.h"
#include "attend/tensor/backend.h"

namespace attend::cpu {

// Elements of streaming work in a piece: about 5 µs.
constexpr std::int64_t kPiece = 16384;
// Chunks that reductions over rows are cut into, at most: their partial sums are added in order.
constexpr std::int64_t kChunks = 32;

// body(begin, end) over rows that take `work` elements each.
template <class Body>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t work, Body&& body) {
  pool.for_range(rows, std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, work)), body);
}

// How a sum over rows is cut: pieces of `rows` each, `count` of them.
struct Chunks {
  std::int64_t rows, count;
  Chunks(std::int64_t total, std::int64_t work)
      : rows(std::max({std::int64_t{1}, (total + kChunks - 1) / kChunks, kPiece / std::max<std::int64_t>(1, work)})),
        count((total + rows - 1) / rows) {}
};

inline Out out_of(const Grad& grad) { return grad ? Out{grad.into.raw(), grad.accumulate} : Out{}; }
inline void* raw_or_null(const Tensor& tensor) { return tensor.defined() ? tensor.raw() : nullptr; }
// The index of a dtype in a table entry.
inline int kind_of(const Tensor& tensor) { return tensor.dtype() == DType::bf16 ? 1 : 0; }

inline DropRule rule_of(const Dropout& dropout) {
  if (!(dropout.rate > 0)) return {};
  DropRule rule;
  rule.key = {static_cast<std::uint64_t>(dropout.seed[1]) << 32 | dropout.seed[0], dropout.stream};
  rule.threshold = dropout_threshold(dropout.rate);
  rule.scale = dropout_scale(dropout.rate);
  return rule;
}

// The element at an offset from a pointer to elements of a tensor's dtype.
inline void* at(void* data, std::int64_t offset, DType dtype) {
  return static_cast<std::byte*>(data) + offset * static_cast<std::int64_t>(bytes_of(dtype));
}
inline const void* at(const void* data, std::int64_t offset, DType dtype) {
  return static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(bytes_of(dtype));
}

}  // namespace attend::cpu
