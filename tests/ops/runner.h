// Runs a case on a device: inputs up, the op, its backward from given output gradients, everything down again.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/tensor/backend.h"
#include "tests/ops/cases.h"

namespace attend::test {

// The case's inputs, drawn from its name, as numbers that the dtype holds exactly.
Arrays make_inputs(const Case& one, DType dtype);

// Gradients of the outputs, drawn likewise; empty for those that are not differentiable.
Arrays make_output_gradients(const Case& one, const Arrays& outputs, DType dtype);

struct RunOptions {
  DType dtype = DType::f32;
  bool backward = true;
  // The op is applied so many times to the same leaves, each result with the same gradient.
  int applications = 1;
  // Each leaf goes through a copy first, which a second op reads besides; that op's gradient is added by hand.
  bool second_consumer = false;
  // Parameters collect their gradient in f32, as a model's do.
  bool parameters_in_f32 = false;
  // Dropout streams thrown away before the op.
  int skipped_streams = 0;
};

struct RunResult {
  Arrays outputs;    // of the first application
  Arrays gradients;  // by input; empty where none was wanted, zeros where none arrived
};

RunResult run_case(const Case& one, Backend& backend, const Arrays& inputs, const Arrays& output_gradients,
                   const RunOptions& options);

// Only the outputs, of tensors that belong to no pass: nothing is kept for a backward pass.
Arrays run_without_pass(const Case& one, Backend& backend, const Arrays& inputs, DType dtype);

// Host numbers as a tensor on the device, and back.
Tensor to_tensor(Backend& backend, const Array& values, DType dtype);
Array to_array(const Tensor& tensor);

// A scalar, of no value, whose backward hands each tensor the gradient it is to have.
Tensor joined(const Tensors& tensors, const Tensors& gradients);

// By how much the second consumer of RunOptions weighs each leaf.
inline constexpr float kSecondConsumer = 2;

}  // namespace attend::test
