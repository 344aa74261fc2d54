// A tensor: a window onto counted memory. Rows of the last axis are contiguous; consecutive rows lie row_stride
// elements apart, so that the query, key and value parts of one fused projection are windows, not copies. That is
// the only stride there is; permute copies.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/tensor/shape.h"
#include "attend/tensor/storage.h"

namespace attend {

// Where a tensor lies in its storage.
struct Window {
  Shape shape;
  std::int64_t offset = 0;      // elements from the start of the storage
  std::int64_t row_stride = 0;  // elements from one row of the last axis to the next
  DType dtype = DType::f32;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(Memory memory, const Window& window) : memory_(std::move(memory)), window_(window) {}

  bool defined() const { return static_cast<bool>(memory_); }
  const Shape& shape() const { return window_.shape; }
  int rank() const { return window_.shape.rank(); }
  std::int64_t dim(int axis) const { return window_.shape[axis]; }
  std::int64_t size() const { return window_.shape.size(); }
  std::int64_t rows() const { return window_.shape.rows(); }
  std::int64_t width() const { return rank() ? dim(-1) : 1; }
  DType dtype() const { return window_.dtype; }
  std::int64_t row_stride() const { return window_.row_stride; }
  bool contiguous() const { return row_stride() == width() || rows() <= 1; }
  const Window& window() const { return window_; }

  Backend& backend() const { return *memory_->backend; }
  Pass* pass() const { return memory_->pass; }
  Storage* storage() const { return memory_.get(); }
  const Memory& memory() const { return memory_; }

  // Device memory: only the backend's kernels may follow it (on the CPU, anyone).
  void* raw() const {
    check(!memory_->packed, "tensor: a packed weight {} has no plain memory", shape());
    return memory_->data + window_.offset * static_cast<std::int64_t>(bytes_of(dtype()));
  }
  template <class T>
  T* data() const {
    check(dtype_of<T> == dtype(), "tensor: {} read as {}", dtype(), dtype_of<T>);
    return static_cast<T*>(raw());
  }

  // The same numbers under another shape; one dimension may be -1. Gradients follow by themselves, since they
  // belong to the storage. Rows with gaps between them keep their width.
  Tensor reshape(std::initializer_list<std::int64_t> dims) const;
  Tensor reshape(const Shape& shape) const;
  Tensor flat_rows() const { return reshape(Shape{rows(), width()}); }  // [.., C] as [rows, C]

  // Columns [begin, begin + width) of the last axis, and rows [begin, begin + count) of the first, as windows.
  // These are for reading and for kernels; ops::split and ops::slice are the differentiable ones.
  Tensor columns(std::int64_t begin, std::int64_t width) const;
  Tensor slice_first(std::int64_t begin, std::int64_t count) const;

 private:
  Memory memory_;
  Window window_;
};

// Uninitialised memory beside x: from x's pass if it has one, else straight from its backend.
Tensor like(const Tensor& x);
Tensor like(const Tensor& x, const Shape& shape);
Tensor like(const Tensor& x, const Shape& shape, DType dtype);

// A tensor that belongs to no pass and frees its memory itself: weights, caches, inputs.
Tensor make_tensor(Backend& backend, const Shape& shape, DType dtype);

// Between host and device; the sizes must fit. Both wait for the device. Float formats are converted on the way.
void upload(const Tensor& to, std::span<const float> values);
void upload(const Tensor& to, std::span<const std::int32_t> values);
std::vector<float> download(const Tensor& from);
std::vector<std::int32_t> download_ints(const Tensor& from);

// Where a backward kernel puts a gradient: write it, or add it to what is there. Empty when nobody wants it.
struct Grad {
  Tensor into;
  bool accumulate = false;
  explicit operator bool() const { return into.defined(); }
};

}  // namespace attend
