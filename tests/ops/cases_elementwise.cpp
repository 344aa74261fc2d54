// Activations, dropout, stochastic depth, add, multiply, scale, cast.
#include <fmt/core.h>

#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/drop_path.h"
#include "attend/ops/layout.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

std::string named(const char* op, std::initializer_list<Shape> shapes) {
  std::string name = op;
  for (const Shape& shape : shapes) {
    if (&shape != shapes.begin()) name += "_with";
    for (std::int64_t dim : shape) name += fmt::format("_{}", dim);
  }
  return name;
}

Case activation_case(Activation kind, const Shape& x) {
  return {
      .name = named(name_of(kind), {x}),
      .inputs = {reals(x, -4, 4)},
      .run = [kind](std::span<const Tensor> in) { return Tensors{ops::activation(in[0], kind)}; },
      .reference =
          [kind](std::span<const Array> in) {
            Array y = in[0];
            for (double& value : y.values) value = activate(value, kind);
            return Arrays{y};
          },
  };
}

Case dropout_case(const Shape& x, float rate) {
  return {
      .name = named("dropout", {x}),
      .inputs = {reals(x)},
      .run = [rate](std::span<const Tensor> in) { return Tensors{ops::dropout(in[0], rate)}; },
      .reference =
          [rate](std::span<const Array> in) {
            Array y = in[0];
            for (std::int64_t i = 0; i < y.size(); ++i) y[i] *= dropout_factor(rate, 0, i);
            return Arrays{y};
          },
      .streams = 1,
  };
}

// What is drawn for an item of the batch counts for all of it.
Case drop_path_case(const Shape& x, float rate) {
  Case one = dropout_case(x, rate);
  one.name = named("drop_path", {x});
  one.run = [rate](std::span<const Tensor> in) { return Tensors{ops::drop_path(in[0], rate)}; };
  one.reference = [rate, each = x.size() / x[0]](std::span<const Array> in) {
    Array y = in[0];
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] *= dropout_factor(rate, 0, i / each);
    return Arrays{y};
  };
  return one;
}

// b has a's shape or an ending of it.
Case pair_case(bool product, const Shape& a, const Shape& b) {
  return {
      .name = named(product ? "multiply" : "add", {a, b}),
      .inputs = {reals(a), weights(b)},
      .run =
          [product](std::span<const Tensor> in) {
            return Tensors{product ? ops::multiply(in[0], in[1]) : ops::add(in[0], in[1])};
          },
      .reference =
          [product](std::span<const Array> in) {
            Array y = in[0];
            for (std::int64_t i = 0; i < y.size(); ++i) {
              const double other = in[1][i % in[1].size()];
              y[i] = product ? y[i] * other : y[i] + other;
            }
            return Arrays{y};
          },
  };
}

Case scale_case(const Shape& x, float alpha) {
  return {
      .name = named("scale", {x}),
      .inputs = {reals(x)},
      .run = [alpha](std::span<const Tensor> in) { return Tensors{ops::scale(in[0], alpha)}; },
      .reference =
          [alpha](std::span<const Array> in) {
            Array y = in[0];
            for (double& value : y.values) value *= alpha;
            return Arrays{y};
          },
  };
}

// To f32 (which does nothing in f32), and on from there.
Case cast_case(const Shape& x, DType to) {
  return {
      .name = named(to == DType::f32 ? "cast_to_f32" : "cast_to_bf16", {x}),
      .inputs = {reals(x)},
      .run = [to](std::span<const Tensor> in) { return Tensors{ops::cast(in[0], to)}; },
      .reference =
          [](std::span<const Array> in) {
            Array y = in[0];
            return Arrays{y};
          },
      .slack = to == DType::bf16 ? 500.0 : 1.0,  // rounds to 8 bits even when the case runs in f32
  };
}

// A weight in the first place, whose gradient may be wanted in f32.
Case weighted_case(const Shape& x) {
  return {
      .name = named("multiply_of_weight", {x}),
      .inputs = {weights(x), reals(x)},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::multiply(in[0], in[1])}; },
      .reference =
          [](std::span<const Array> in) {
            Array y = in[0];
            for (std::int64_t i = 0; i < y.size(); ++i) y[i] *= in[1][i];
            return Arrays{y};
          },
  };
}

// x + x and x * x: both operands are the same tensor.
Case square_case(bool product, const Shape& x) {
  return {
      .name = named(product ? "multiply_with_itself" : "add_to_itself", {x}),
      .inputs = {reals(x)},
      .run =
          [product](std::span<const Tensor> in) {
            return Tensors{product ? ops::multiply(in[0], in[0]) : ops::add(in[0], in[0])};
          },
      .reference =
          [product](std::span<const Array> in) {
            Array y = in[0];
            for (double& value : y.values) value = product ? value * value : value + value;
            return Arrays{y};
          },
  };
}

void bench(std::vector<Case>& cases, Case::Size size, Case one, double forward, double backward) {
  one.size = size;
  const double elements = static_cast<double>(one.inputs[0].shape.size());
  one.forward.elements = forward * elements;
  one.backward.elements = backward * elements;
  cases.push_back(std::move(one));
}

}  // namespace

static void add_elementwise_cases(std::vector<Case>& cases) {
  for (Activation kind : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::tanh,
                          Activation::sigmoid, Activation::leaky_relu}) {
    cases.push_back(activation_case(kind, {3, 17}));
    cases.push_back(activation_case(kind, {5, 33, 7}));
  }
  cases.push_back(activation_case(Activation::gelu, {1}));
  cases.push_back(activation_case(Activation::silu, {0, 3}));
  cases.push_back(dropout_case({3, 17}, 0.5f));
  cases.push_back(dropout_case({67, 33}, 0.1f));
  cases.push_back(dropout_case({1}, 0.9f));
  cases.push_back(dropout_case({0, 4}, 0.5f));
  cases.push_back(drop_path_case({9, 4, 16}, 0.4f));
  cases.push_back(drop_path_case({7, 3, 5}, 0.5f));
  for (bool product : {false, true}) {
    cases.push_back(pair_case(product, {3, 17}, {3, 17}));
    cases.push_back(pair_case(product, {3, 17}, {17}));
    cases.push_back(pair_case(product, {4, 3, 33}, {3, 33}));
    cases.push_back(pair_case(product, {5, 2, 3, 7}, {7}));
    cases.push_back(pair_case(product, {1}, {1}));
    cases.push_back(pair_case(product, {0, 5}, {5}));
    cases.push_back(pair_case(product, {67, 130}, {130}));
    cases.push_back(pair_case(product, {301, 3}, {3}));
    cases.push_back(square_case(product, {3, 17}));
  }
  cases.push_back(weighted_case({3, 17}));
  cases.push_back(scale_case({3, 17}, -2.5f));
  cases.push_back(scale_case({0, 17}, 2));
  cases.push_back(scale_case({5, 67}, 0.125f));
  cases.push_back(cast_case({3, 17}, DType::f32));
  cases.push_back(cast_case({3, 17}, DType::bf16));

  for (const auto& [size, x] :
       {std::pair{Case::Size::base, Shape{1024, 2048}}, {Case::Size::large, Shape{65536, 3072}}}) {
    bench(cases, size, activation_case(Activation::relu, x), 2, 3);
    bench(cases, size, activation_case(Activation::gelu, x), 2, 3);
    bench(cases, size, activation_case(Activation::gelu_tanh, x), 2, 3);
    bench(cases, size, dropout_case(x, 0.1f), 2, 2);
    bench(cases, size, pair_case(false, x, x), 3, 4);  // a leaf's gradient is a copy: dy in, out, twice
    bench(cases, size, pair_case(true, x, x), 3, 6);
    bench(cases, size, scale_case(x, 2), 2, 2);
  }
}

const CaseList kElementwiseCases("elementwise", add_elementwise_cases);

}  // namespace attend::test
