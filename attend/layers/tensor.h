// Tensors of your own networks, and the tape that differentiates what is computed from them.
//
//   attend::nn::Tape tape(device);
//   const attend::nn::Tensor x = tape.variable({device, {2}, {3, 4}});
//   attend::nn::sum(x * x).backward();
//   x.gradient().values();                                   // {6, 8}
//
// Recording is decided by data: what is computed from a tensor of a Tape is recorded, everything else is not. So there
// is neither a global mode nor a flag for training.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/base/error.h"
#include "attend/device.h"
#include "attend/tensor/shape.h"

namespace attend::layers {

struct TensorRecord;  // the library's own
struct TapeState;

// Numbers on a device: f32, bf16 or i32. Tensors are values that do not change; a copy is the same tensor. Operations
// on a tensor without numbers, or of the wrong shape, throw Error and name the shapes.
class Tensor {
 public:
  Tensor() = default;  // undefined
  // A copy of numbers that lie on the host, row after row.
  Tensor(const Device& device, const Shape& shape, std::span<const float> values);
  Tensor(const Device& device, const Shape& shape, std::span<const std::int32_t> values);
  Tensor(const Device& device, const Shape& shape, std::initializer_list<float> values)
      : Tensor(device, shape, std::span(values.begin(), values.size())) {}
  // A list of numbers is floats; this one is of i32, for tokens and labels.
  static Tensor ids(const Device& device, const Shape& shape, std::initializer_list<std::int32_t> values) {
    return Tensor(device, shape, std::span(values.begin(), values.size()));
  }

  static Tensor full(const Device& device, const Shape& shape, float value);
  static Tensor zeros(const Device& device, const Shape& shape) { return full(device, shape, 0); }
  // Normally distributed, with mean 0: a pure function of seed and place.
  static Tensor normal(const Device& device, const Shape& shape, std::uint64_t seed, float deviation = 1);

  bool defined() const { return record_ != nullptr; }
  const Shape& shape() const;
  int rank() const { return shape().rank(); }
  std::int64_t dim(int axis) const { return shape()[axis]; }  // dim(-1) is the last one
  std::int64_t size() const { return shape().size(); }
  DType dtype() const;
  std::string device_name() const;

  // Copies to the host, row after row; they wait for the device.
  std::vector<float> values() const;       // of floats
  std::vector<std::int32_t> ints() const;  // of i32
  float item() const;                      // of a tensor with one number
  // The memory itself if it lies on the host without gaps, else null. It lives as long as the tensor.
  const void* host_data() const;

  // The same numbers under another shape; one dimension may be -1.
  Tensor reshape(std::span<const std::int64_t> dims) const;
  Tensor reshape(std::initializer_list<std::int64_t> dims) const {
    return reshape(std::span(dims.begin(), dims.size()));
  }
  Tensor reshape(const Shape& shape) const { return reshape(std::span(shape.begin(), shape.end())); }
  // A copy that no tape knows, for which nothing learns.
  Tensor detach() const;

  bool recorded() const;  // whether backward() may start here
  // Runs the tape backward from this number, and leaves gradients in variables and parameters. Once per step of a tape.
  void backward() const;
  // The gradient of a Tape::variable or of a Parameter after backward(); undefined if none arrived.
  Tensor gradient() const;

 private:
  friend struct Access;
  std::shared_ptr<const TensorRecord> record_;
};

// Records what is computed from its tensors, step after step. One tape for all steps of a training run plans its memory
// once. backward() ends a step, and the next input() or variable() begins the next one: tensors of an ended step can
// be read, but not differentiated any more.
class Tape {
 public:
  explicit Tape(const Device& device, std::uint64_t seed = 1);  // the seed of dropout

  // x, recorded from here on. A parameter given here keeps its gradient.
  Tensor input(const Tensor& x);
  // The same as a leaf whose gradient() is wanted.
  Tensor variable(const Tensor& x);
  void backward(const Tensor& loss) { loss.backward(); }
  // Forgets what was recorded since the last step.
  void restart();

 private:
  friend struct Access;
  explicit Tape(std::shared_ptr<TapeState> state) : state_(std::move(state)) {}
  std::shared_ptr<TapeState> state_;
};

// value, recorded by the tape of x if x has one: for what a model computes from its parameters alone, such as a slice
// of a table of positions. An op that mixes such a tensor with recorded ones throws Error, since the parameter would
// not learn.
Tensor beside(const Tensor& x, const Tensor& value);

}  // namespace attend::layers
