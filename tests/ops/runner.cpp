#include "tests/ops/runner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "attend/base/random.h"
#include "attend/ops/arithmetic.h"
#include "attend/tensor/pass.h"
#include "attend/tensor/tape.h"

namespace attend::test {

namespace {

double rounded(double value, DType dtype) {
  const auto single = static_cast<float>(value);
  return dtype == DType::bf16 ? static_cast<float>(Bf16(single)) : single;
}

// The same numbers on every machine: not std::hash, whose value is its own business.
std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 1469598103934665603ULL;
  for (char letter : name) seed = (seed ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return seed;
}

double unit(std::uint64_t seed, std::uint32_t stream, std::int64_t i) {
  return to_unit(random_word(seed, stream, static_cast<std::uint64_t>(i)));
}

Array drawn(const Input& input, std::uint64_t seed, std::uint32_t stream, DType dtype) {
  Array values(input.shape);
  const std::int64_t count = values.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const double spread = input.low + (input.high - input.low) * unit(seed, stream, i);
    switch (input.kind) {
      case Input::Kind::real:
        values[i] = rounded(spread, input.keeps_f32 ? DType::f32 : dtype);
        break;
      case Input::Kind::integer:
        values[i] = std::floor(spread);
        break;
      case Input::Kind::given:
        values[i] = input.values[static_cast<std::size_t>(i)];
        break;
      case Input::Kind::distinct:
        values[i] = static_cast<double>(i - count / 2);
        break;
    }
  }
  if (input.kind == Input::Kind::distinct)
    for (std::int64_t i = count - 1; i > 0; --i)
      std::swap(values[i], values[static_cast<std::int64_t>(unit(seed, stream, i) * static_cast<double>(i + 1))]);
  return values;
}

DType dtype_of_input(const Input& input, DType dtype) {
  return input.is_int() ? DType::i32 : input.keeps_f32 ? DType::f32 : dtype;
}

std::size_t differentiable_outputs(const Case& one, std::size_t outputs) {
  return one.differentiable < 0 ? outputs : static_cast<std::size_t>(one.differentiable);
}

// The inputs as leaves of the pass. A parameter is a tensor of its own, outside the pass, as a model's are.
Tensors make_leaves(const Case& one, Pass& pass, const Arrays& inputs, const RunOptions& options) {
  Tensors leaves;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = one.inputs[i];
    Tensor outside = to_tensor(pass.backend(), inputs[i], dtype_of_input(input, options.dtype));
    if (input.differentiable && input.parameter && options.parameters_in_f32) {
      Storage* storage = outside.storage();
      storage->differentiable = storage->keeps_gradient = storage->gradient_f32 = true;
      leaves.push_back(outside);
    } else {
      leaves.push_back(input.differentiable ? pass.variable(outside) : pass.input(outside));
    }
  }
  return leaves;
}

struct Loss {
  Tensors tensors, gradients;
};

// Reads each differentiable input a second time; its gradient there is all ones, times kSecondConsumer.
Tensors consumed_twice(const Case& one, const Tensors& leaves, Loss& loss) {
  Tensors copies = leaves;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!one.inputs[i].differentiable) continue;
    copies[i] = ops::scale(leaves[i], 1);
    Tensor ones = make_tensor(leaves[i].backend(), leaves[i].shape(), leaves[i].dtype());
    ones.backend().fill(ones, 1);
    loss.gradients.push_back(ones);
  }
  return copies;
}

}  // namespace

Tensor joined(const Tensors& tensors, const Tensors& gradients) {
  Tensor y = like(tensors.front(), {1}, DType::f32);
  const auto wanted = std::find_if(tensors.begin(), tensors.end(), [](const Tensor& x) { return Grads::wants(x); });
  return record(y, {wanted == tensors.end() ? tensors.front() : *wanted},
                [tensors, gradients](const Tensor&, Grads& grad) {
                  for (std::size_t i = 0; i < tensors.size(); ++i) grad.give(tensors[i], gradients[i]);
                });
}

Arrays make_inputs(const Case& one, DType dtype) {
  Arrays inputs;
  for (const Input& input : one.inputs)
    inputs.push_back(drawn(input, seed_of(one.name), static_cast<std::uint32_t>(inputs.size()), dtype));
  return inputs;
}

Arrays make_output_gradients(const Case& one, const Arrays& outputs, DType dtype) {
  Arrays gradients(outputs.size());
  for (std::size_t i = 0; i < differentiable_outputs(one, outputs.size()); ++i)
    gradients[i] = drawn(reals(outputs[i].shape), seed_of(one.name), 1000 + static_cast<std::uint32_t>(i), dtype);
  return gradients;
}

Tensor to_tensor(Backend& backend, const Array& values, DType dtype) {
  Tensor tensor = make_tensor(backend, values.shape, dtype);
  if (dtype == DType::i32)
    upload(tensor, std::vector<std::int32_t>(values.values.begin(), values.values.end()));
  else
    upload(tensor, std::vector<float>(values.values.begin(), values.values.end()));
  return tensor;
}

Array to_array(const Tensor& tensor) {
  Array values(tensor.shape());
  const auto copy = [&](const auto& from) { std::copy(from.begin(), from.end(), values.values.begin()); };
  if (tensor.dtype() == DType::i32)
    copy(download_ints(tensor));
  else
    copy(download(tensor));
  return values;
}

RunResult run_case(const Case& one, Backend& backend, const Arrays& inputs, const Arrays& output_gradients,
                   const RunOptions& options) {
  Pass pass(backend, {.recording = true});
  pass.begin({.seed = kSeed});
  for (int i = 0; i < options.skipped_streams; ++i) pass.dropout(0.5f);
  const Tensors leaves = make_leaves(one, pass, inputs, options);
  RunResult result;
  Loss loss, second;
  const Tensors read = options.second_consumer ? consumed_twice(one, leaves, second) : leaves;
  for (int application = 0; application < options.applications; ++application) {
    const Tensors outputs = one.run(read);
    if (application == 0)
      for (const Tensor& output : outputs) result.outputs.push_back(to_array(output));
    for (std::size_t i = 0; options.backward && i < differentiable_outputs(one, outputs.size()); ++i) {
      loss.tensors.push_back(outputs[i]);
      loss.gradients.push_back(to_tensor(backend, output_gradients[i], outputs[i].dtype()));
    }
  }
  if (!options.backward) return result;
  // Recorded after the op, so that its gradient is there first and the op must add to it.
  for (std::size_t i = 0; options.second_consumer && i < leaves.size(); ++i)
    if (one.inputs[i].differentiable) second.tensors.push_back(ops::scale(read[i], kSecondConsumer));
  loss.tensors.insert(loss.tensors.end(), second.tensors.begin(), second.tensors.end());
  loss.gradients.insert(loss.gradients.end(), second.gradients.begin(), second.gradients.end());
  const Tensor start = joined(loss.tensors, loss.gradients);
  pass.backward(start, like(start));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    result.gradients.emplace_back();
    if (!one.inputs[i].differentiable) continue;
    const Tensor gradient = gradient_of(leaves[i]);
    result.gradients.back() = gradient.defined() ? to_array(gradient) : Array(leaves[i].shape());
  }
  return result;
}

Arrays run_without_pass(const Case& one, Backend& backend, const Arrays& inputs, DType dtype) {
  Tensors tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(to_tensor(backend, inputs[i], dtype_of_input(one.inputs[i], dtype)));
  Arrays outputs;
  for (const Tensor& output : one.run(tensors)) outputs.push_back(to_array(output));
  return outputs;
}

}  // namespace attend::test
