// Constant tables that follow from a model's settings: which places of shifted windows may attend to each other, or
// which row of a bias table belongs to a pair of places.
//
// They are not Parameters, because files do not hold them and some are integers. The first forward that reads a table
// uploads it, and it stays on the device. A captured forward must not upload anything. It does not, because a step is
// captured when it runs for the third time (tensor/step_graph.h).
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "attend/tensor/pass.h"
#include "attend/tensor/tensor.h"

namespace attend::nn {

// T is std::int32_t, or float for numbers in the dtype of the tensor they are used with. Copies share one device
// tensor.
template <class T>
class FixedTable {
 public:
  using Make = std::function<std::vector<T>()>;
  FixedTable(const Shape& shape, Make make) : kept_(std::make_shared<Kept>(shape, std::move(make))) {}

  // The table on x's device and in x's pass.
  Tensor beside(const Tensor& x) const {
    const DType dtype = std::same_as<T, float> ? x.dtype() : DType::i32;
    const std::lock_guard lock(kept_->mutex);
    Tensor& value = kept_->value;
    if (!value.defined() || &value.backend() != &x.backend() || value.dtype() != dtype) {
      value = make_tensor(x.backend(), kept_->shape, dtype);
      upload(value, kept_->make());
    }
    return x.pass() ? x.pass()->input(value) : value;
  }

 private:
  struct Kept {
    Kept(const Shape& of, Make values) : shape(of), make(std::move(values)) {}
    Shape shape;
    Make make;
    std::mutex mutex;
    Tensor value;
  };
  std::shared_ptr<Kept> kept_;
};

}  // namespace attend::nn
