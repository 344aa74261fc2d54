// Networks of your own: tensors, differentiable ops, layers, losses, optimisers and a training loop. docs/layers.md is
// a tour of one page, examples/ has five programs.
//
//   #include <attend/nn.h>
//   namespace nn = attend::nn;
//
//   const attend::Device device("cpu");
//   nn::Linear model(2, 1);
//   nn::Parameters parameters(device, model);
//   nn::Optimizer optimizer(parameters, {.rate = 0.1f});
//   const nn::Tensor x(device, {3, 2}, {1, 2, 3, 4, 5, 6}), y(device, {3, 1}, {3, 7, 11});
//   nn::fit(optimizer, {.steps = 200},
//           [&](nn::Tape& tape, std::int64_t) { return nn::mean_squared_error(model(tape.input(x)), y); });
//   parameters.save("sum.safetensors");
//
// Errors are attend::Error, or std::bad_alloc. Use a Device and all tensors on it from one thread at a time.
#pragma once

#include "attend/base/error.h"
#include "attend/device.h"
#include "attend/layers/modules.h"
#include "attend/layers/ops.h"
#include "attend/layers/parameters.h"
#include "attend/layers/tensor.h"
#include "attend/layers/training.h"

namespace attend {

// The library's own code has a namespace nn, too, for the layers that its models are made of; so the public ones live
// in attend::layers, and only programs that include this header call them attend::nn.
namespace nn = layers;

}  // namespace attend
