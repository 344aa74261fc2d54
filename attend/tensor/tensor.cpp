// Windows, allocation and the ways between host and device.
#include "attend/tensor/tensor.h"

#include <algorithm>

#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"

namespace attend {

Tensor Tensor::reshape(std::initializer_list<std::int64_t> dims) const {
  Shape shape;
  int open = -1;
  std::int64_t known = 1;
  for (std::int64_t dim : dims) {
    if (dim == -1) {
      check(open < 0, "reshape: more than one -1");
      open = shape.rank();
      shape.append(0);
    } else {
      shape.append(dim);
      known *= dim;
    }
  }
  if (open >= 0) {
    check(known > 0 && size() % known == 0, "reshape: {} does not fit {} with its -1 filled in", this->shape(), shape);
    shape.set(open, size() / known);
  }
  return reshape(shape);
}

Tensor Tensor::reshape(const Shape& shape) const {
  check(shape.size() == size(), "reshape: {} has {} elements, {} has {}", this->shape(), size(), shape, shape.size());
  Window window = window_;
  window.shape = shape;
  if (contiguous())
    window.row_stride = shape.rank() ? shape[-1] : 1;
  else
    check(shape.rank() > 0 && shape[-1] == width(), "reshape: {} has gaps between its rows, so {} must keep width {}",
          this->shape(), shape, width());
  return Tensor(memory_, window);
}

Tensor Tensor::columns(std::int64_t begin, std::int64_t width) const {
  check(begin >= 0 && width >= 0 && begin + width <= this->width(), "columns: [{}, {}) of {}", begin, begin + width,
        shape());
  Window window = window_;
  window.offset += begin;
  window.shape.set(-1, width);
  return Tensor(memory_, window);
}

Tensor Tensor::slice_first(std::int64_t begin, std::int64_t count) const {
  check(rank() >= 1 && begin >= 0 && count >= 0 && begin + count <= dim(0), "slice: [{}, {}) of {}", begin,
        begin + count, shape());
  Window window = window_;
  if (rank() == 1) {
    window.offset += begin;
    window.row_stride = count;
  } else {
    window.offset += begin * (dim(0) ? rows() / dim(0) : 0) * row_stride();
  }
  window.shape.set(0, count);
  return Tensor(memory_, window);
}

Tensor like(const Tensor& x) { return like(x, x.shape(), x.dtype()); }
Tensor like(const Tensor& x, const Shape& shape) { return like(x, shape, x.dtype()); }
Tensor like(const Tensor& x, const Shape& shape, DType dtype) {
  return x.pass() ? x.pass()->tensor(shape, dtype) : make_tensor(x.backend(), shape, dtype);
}

Tensor make_tensor(Backend& backend, const Shape& shape, DType dtype) {
  auto* storage = new Storage;
  storage->backend = &backend;
  Memory memory(storage);
  storage->bytes = static_cast<std::size_t>(shape.size()) * bytes_of(dtype);
  storage->data = static_cast<std::byte*>(backend.allocate(storage->bytes));
  storage->owned = true;
  return Tensor(std::move(memory), {shape, 0, shape.rank() ? shape[-1] : 1, dtype});
}

namespace {

std::size_t bytes_in(const Tensor& x) { return static_cast<std::size_t>(x.size()) * bytes_of(x.dtype()); }

// Rows with gaps go through a contiguous copy on the device.
Tensor without_gaps(const Tensor& x) {
  if (x.contiguous()) return x;
  Tensor packed = make_tensor(x.backend(), x.shape(), x.dtype());
  Walk from{x, x.window().offset, {x.row_stride(), 1}}, to{packed, 0, {x.width(), 1}};
  x.backend().strided_copy(from, to, {x.rows(), x.width()}, false);
  return packed;
}

}  // namespace

void upload(const Tensor& to, std::span<const float> values) {
  check(to.contiguous() && is_float(to.dtype()), "upload: floats into {} {} (contiguous floats only)", to.dtype(),
        to.shape());
  check(static_cast<std::int64_t>(values.size()) == to.size(), "upload: {} values into {}", values.size(), to.shape());
  if (to.dtype() == DType::f32) return to.backend().to_device(to.raw(), values.data(), bytes_in(to));
  std::vector<Bf16> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(), [](float value) { return Bf16(value); });
  to.backend().to_device(to.raw(), rounded.data(), bytes_in(to));
}

void upload(const Tensor& to, std::span<const std::int32_t> values) {
  check(to.contiguous() && to.dtype() == DType::i32, "upload: integers into {} {} (contiguous i32 only)", to.dtype(),
        to.shape());
  check(static_cast<std::int64_t>(values.size()) == to.size(), "upload: {} values into {}", values.size(), to.shape());
  to.backend().to_device(to.raw(), values.data(), bytes_in(to));
}

std::vector<float> download(const Tensor& x) {
  check(is_float(x.dtype()), "download: {} is not a float tensor", x.dtype());
  const Tensor from = without_gaps(x);
  std::vector<float> values(static_cast<std::size_t>(x.size()));
  if (x.dtype() == DType::f32) {
    x.backend().to_host(values.data(), from.raw(), bytes_in(from));
    return values;
  }
  std::vector<Bf16> halves(values.size());
  x.backend().to_host(halves.data(), from.raw(), bytes_in(from));
  std::copy(halves.begin(), halves.end(), values.begin());
  return values;
}

std::vector<std::int32_t> download_ints(const Tensor& x) {
  check(x.dtype() == DType::i32, "download: {} is not i32", x.dtype());
  const Tensor from = without_gaps(x);
  std::vector<std::int32_t> values(static_cast<std::size_t>(x.size()));
  x.backend().to_host(values.data(), from.raw(), bytes_in(from));
  return values;
}

}  // namespace attend
