// How kernels cut their work: by its size alone, so that results do not depend on the number of threads, and into
// pieces large enough to be worth a parallel region, which costs a few microseconds.
#pragma once

#include <algorithm>
#include <array>
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

// body(begin, end) over rows that take `work` elements each, as work that can be kept (cpu::Recording) if the body
// holds all it needs.
template <class Body>
struct RowWork {
  std::int64_t rows, work;
  Body body;

  std::int64_t grain() const { return std::max<std::int64_t>(1, kPiece / std::max<std::int64_t>(1, work)); }
  void operator()(std::int64_t piece) const { body(piece * grain(), std::min(rows, (piece + 1) * grain())); }
  std::array<ThreadPool::Stage, 1> stages() const { return {ThreadPool::each((rows + grain() - 1) / grain(), *this)}; }
};
template <class Body>
RowWork(std::int64_t, std::int64_t, Body) -> RowWork<Body>;

// The same now, with a body that may refer to anything.
template <class Body>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t work, Body&& body) {
  const RowWork<Body&> now{rows, work, body};
  pool.run(now.stages());
}

// first(i) over [0, count), and then second(i) over [0, then).
template <class First, class Second>
struct TwoSteps {
  std::int64_t count;
  First first;
  std::int64_t then;
  Second second;

  std::array<ThreadPool::Stage, 2> stages() const {
    return {ThreadPool::each(count, first), ThreadPool::each(then, second)};
  }
};
template <class First, class Second>
TwoSteps(std::int64_t, First, std::int64_t, Second) -> TwoSteps<First, Second>;

// first(i) and then second(i) over [0, count), and then third(i) over [0, last).
template <class First, class Second, class Third>
struct ThreeSteps {
  std::int64_t count;
  First first;
  Second second;
  std::int64_t last;
  Third third;

  std::array<ThreadPool::Stage, 3> stages() const {
    return {ThreadPool::each(count, first), ThreadPool::each(count, second), ThreadPool::each(last, third)};
  }
};
template <class First, class Second, class Third>
ThreeSteps(std::int64_t, First, Second, std::int64_t, Third) -> ThreeSteps<First, Second, Third>;

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
  rule.group = static_cast<std::uint64_t>(dropout.group);
  return rule;
}

// The element at an offset from a pointer to elements of a tensor's dtype.
inline void* at(void* data, std::int64_t offset, DType dtype) {
  return static_cast<std::byte*>(data) + offset * static_cast<std::int64_t>(bytes_of(dtype));
}
inline const void* at(const void* data, std::int64_t offset, DType dtype) {
  return static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(bytes_of(dtype));
}

// Where the rows of a tensor lie, without a share in its memory: work that is kept must not change when that is given
// back and used again.
struct View {
  void* data = nullptr;  // null: of no tensor
  DType dtype = DType::f32;
  std::int64_t rows = 0, stride = 0;

  View() = default;
  View(const Tensor& x) {
    if (x.defined()) data = x.raw(), dtype = x.dtype(), rows = x.rows(), stride = x.rank() > 0 ? x.row_stride() : 1;
  }
  void* at(std::int64_t row, std::int64_t column = 0) const { return cpu::at(data, row * stride + column, dtype); }
};

}  // namespace attend::cpu
