// linear: bias or not, every activation, both weight layouts, inputs that are windows of something wider.
#include <fmt/core.h>

#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

struct LinearSpec {
  Shape x;  // [.., I]
  std::int64_t out = 1;
  bool bias = true;
  Activation activation = Activation::none;
  bool input_major = false;
};

Array linear_reference(const LinearSpec& spec, const Array& x, const Array& weight, const Array* bias) {
  Array y(x.shape.with_last(spec.out));
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t o = 0; o < spec.out; ++o) {
      double sum = bias ? (*bias)(o) : 0;
      for (std::int64_t i = 0; i < x.width(); ++i) sum += x.at(r, i) * (spec.input_major ? weight(i, o) : weight(o, i));
      y.at(r, o) = activate(sum, spec.activation);
    }
  return y;
}

std::string name_of(const LinearSpec& spec) {
  std::string name = "linear";
  for (std::int64_t dim : spec.x) name += fmt::format("_{}", dim);
  name += fmt::format("_to_{}", spec.out);
  if (spec.bias) name += "_bias";
  if (spec.activation != Activation::none) name += fmt::format("_{}", attend::name_of(spec.activation));
  if (spec.input_major) name += "_input_major";
  return name;
}

Case linear_case(const LinearSpec& spec) {
  const std::int64_t in = spec.x[-1];
  const Shape weight = spec.input_major ? Shape{in, spec.out} : Shape{spec.out, in};
  Case one{
      .name = name_of(spec),
      .inputs = {reals(spec.x), weights(weight)},
      .run =
          [spec](std::span<const Tensor> in) {
            return Tensors{ops::linear(in[0], in[1], spec.bias ? in[2] : Tensor(),
                                       {.activation = spec.activation, .input_major = spec.input_major})};
          },
      .reference =
          [spec](std::span<const Array> in) {
            return Arrays{linear_reference(spec, in[0], in[1], spec.bias ? &in[2] : nullptr)};
          },
  };
  if (spec.bias) one.inputs.push_back(weights({spec.out}));
  return one;
}

// The middle third of x [rows, 3·I] goes through the layer: rows with gaps in, and a gradient with gaps back.
Case window_case(std::int64_t rows, std::int64_t in, std::int64_t out) {
  return {
      .name = fmt::format("linear_of_window_{}_{}_to_{}", rows, in, out),
      .inputs = {reals({rows, 3 * in}), weights({out, in}), weights({out})},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::linear(ops::split<3>(in[0])[1], in[1], in[2])}; },
      .reference =
          [rows, in, out](std::span<const Array> inputs) {
            Array middle({rows, in});
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t i = 0; i < in; ++i) middle(r, i) = inputs[0](r, in + i);
            return Arrays{linear_reference({.x = {rows, in}, .out = out}, middle, inputs[1], &inputs[2])};
          },
  };
}

// The product is added to a stream that goes around it.
Case residual_case(std::int64_t rows, std::int64_t in, std::int64_t out, bool input_major) {
  const LinearSpec spec = {.x = {rows, in}, .out = out, .input_major = input_major};
  return {
      .name = fmt::format("linear_added_{}_{}_to_{}{}", rows, in, out, input_major ? "_input_major" : ""),
      .inputs = {reals(spec.x), weights(input_major ? Shape{in, out} : Shape{out, in}), weights({out}),
                 reals({rows, out})},
      .run =
          [input_major](std::span<const Tensor> in) {
            return Tensors{ops::linear(in[0], in[1], in[2], {.input_major = input_major, .residual = in[3]})};
          },
      .reference =
          [spec](std::span<const Array> in) {
            Array y = linear_reference(spec, in[0], in[1], &in[2]);
            for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += in[3].values[i];
            return Arrays{std::move(y)};
          },
  };
}

void add_bench(std::vector<Case>& cases, const char* name, Case::Size size, const LinearSpec& spec) {
  Case one = linear_case(spec);
  one.name = name;
  one.size = size;
  const double product = 2.0 * static_cast<double>(spec.x.size() * spec.out);
  one.forward.flops = product;
  one.backward.flops = 2 * product;
  cases.push_back(std::move(one));
}

}  // namespace

static void add_linear_cases(std::vector<Case>& cases) {
  for (bool bias : {false, true})
    for (bool input_major : {false, true})
      cases.push_back(linear_case({.x = {3, 17}, .out = 33, .bias = bias, .input_major = input_major}));
  for (Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu,
                                Activation::tanh, Activation::sigmoid, Activation::leaky_relu}) {
    cases.push_back(linear_case({.x = {2, 5, 17}, .out = 31, .activation = activation}));
    cases.push_back(linear_case({.x = {19, 24}, .out = 20, .bias = false, .activation = activation}));
  }
  cases.push_back(linear_case({.x = {35, 40}, .out = 72, .activation = Activation::gelu_tanh, .input_major = true}));
  for (bool input_major : {false, true}) {
    cases.push_back(residual_case(1, 40, 24, input_major));
    cases.push_back(residual_case(19, 24, 33, input_major));
    cases.push_back(residual_case(64, 128, 96, input_major));
  }
  // One of everything; nothing at all; a vector; one row (decode); one column.
  cases.push_back(linear_case({.x = {1, 1}, .out = 1}));
  cases.push_back(linear_case({.x = {0, 17}, .out = 5}));
  cases.push_back(linear_case({.x = {0, 17}, .out = 5, .activation = Activation::gelu}));
  cases.push_back(linear_case({.x = {17}, .out = 3}));
  cases.push_back(linear_case({.x = {1, 257}, .out = 129, .activation = Activation::relu}));
  cases.push_back(linear_case({.x = {5, 131}, .out = 1}));
  cases.push_back(linear_case({.x = {33, 1}, .out = 65}));
  // Past the tiles of every kernel, and of a size where the matrix units of the CPU come in.
  cases.push_back(linear_case({.x = {67, 129}, .out = 130}));
  cases.push_back(linear_case({.x = {67, 129}, .out = 130, .activation = Activation::gelu, .input_major = true}));
  cases.push_back(linear_case({.x = {128, 192}, .out = 160, .activation = Activation::gelu_tanh}));
  cases.push_back(linear_case({.x = {3, 41, 96}, .out = 200, .activation = Activation::relu}));
  cases.push_back(window_case(5, 17, 33));
  cases.push_back(window_case(66, 64, 40));

  using Size = Case::Size;
  add_bench(cases, "linear_512_to_512", Size::base, {.x = {1024, 512}, .out = 512});
  add_bench(cases, "linear_512_to_2048_relu", Size::base,
            {.x = {1024, 512}, .out = 2048, .activation = Activation::relu});
  add_bench(cases, "linear_2048_to_512", Size::base, {.x = {1024, 2048}, .out = 512});
  add_bench(cases, "linear_768_to_2304", Size::large, {.x = {64, 1024, 768}, .out = 2304});
  add_bench(cases, "linear_768_to_3072_gelu_tanh", Size::large,
            {.x = {64, 1024, 768}, .out = 3072, .activation = Activation::gelu_tanh});
  add_bench(cases, "linear_3072_to_768", Size::large, {.x = {64, 1024, 3072}, .out = 768});
  add_bench(cases, "linear_768_to_50304", Size::large, {.x = {16, 1024, 768}, .out = 50304, .bias = false});
}

const CaseList kLinearCases("linear", add_linear_cases);

}  // namespace attend::test
