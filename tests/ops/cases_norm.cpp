// layer_norm and add_norm: with the sum used, the norm used, both; with dropout of the branch, and with stochastic
// depth.
#include <fmt/core.h>

#include <cmath>

#include "attend/ops/norm.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

Array norm_reference(const Array& x, const Array& weight, const Array* bias, double eps) {
  Array y(x.shape);
  const std::int64_t width = x.width();
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < width; ++c) mean += x.at(r, c) / static_cast<double>(width);
    for (std::int64_t c = 0; c < width; ++c) variance += std::pow(x.at(r, c) - mean, 2) / static_cast<double>(width);
    for (std::int64_t c = 0; c < width; ++c)
      y.at(r, c) = (x.at(r, c) - mean) / std::sqrt(variance + eps) * weight(c) + (bias ? (*bias)(c) : 0);
  }
  return y;
}

Case layer_norm_case(const Shape& x, bool bias, float eps, double offset) {
  std::string name = "layer_norm";
  for (std::int64_t dim : x) name += fmt::format("_{}", dim);
  if (bias) name += "_bias";
  if (eps != 1e-5f) name += "_eps";
  if (offset != 0) name += "_offset";
  Case one{
      .name = name,
      .inputs = {reals(x, offset - 2, offset + 2), weights({x[-1]}, 0.5, 1.5)},
      .run =
          [bias, eps](std::span<const Tensor> in) {
            return Tensors{ops::layer_norm(in[0], in[1], bias ? in[2] : Tensor(), eps)};
          },
      .reference =
          [bias, eps](std::span<const Array> in) {
            return Arrays{norm_reference(in[0], in[1], bias ? &in[2] : nullptr, eps)};
          },
  };
  if (bias) one.inputs.push_back(weights({x[-1]}));
  return one;
}

struct AddNormSpec {
  Shape x;
  bool bias = true;
  bool sum = true, norm = true;  // which results are used
  float dropout = 0, drop_path = 0;
};

Case add_norm_case(const AddNormSpec& spec) {
  std::string name = "add_norm";
  for (std::int64_t dim : spec.x) name += fmt::format("_{}", dim);
  if (spec.bias) name += "_bias";
  if (spec.sum) name += "_sum";
  if (spec.norm) name += "_norm";
  if (spec.dropout > 0) name += "_dropout";
  if (spec.drop_path > 0) name += "_drop_path";
  const auto chosen = [spec](auto sum, auto norm) {
    std::vector<decltype(sum)> outputs;
    if (spec.sum) outputs.push_back(sum);
    if (spec.norm) outputs.push_back(norm);
    return outputs;
  };
  Case one{
      .name = name,
      .inputs = {reals(spec.x), reals(spec.x, -2, 2), weights({spec.x[-1]}, 0.5, 1.5)},
      .run =
          [spec, chosen](std::span<const Tensor> in) {
            const auto [sum, norm] = ops::add_norm(in[0], in[1], in[2], spec.bias ? in[3] : Tensor(),
                                                   {.dropout = spec.dropout, .drop_path = spec.drop_path});
            return chosen(sum, norm);
          },
      .reference =
          [spec, chosen](std::span<const Array> in) {
            Array sum = in[0];
            const float rate = spec.dropout + spec.drop_path;
            const std::int64_t share = spec.drop_path > 0 ? sum.size() / spec.x[0] : 1;  // elements of a draw
            for (std::int64_t i = 0; i < sum.size(); ++i)
              sum[i] += in[1][i] * (rate > 0 ? dropout_factor(rate, 0, i / share) : 1);
            return chosen(sum, norm_reference(sum, in[2], spec.bias ? &in[3] : nullptr, 1e-5f));
          },
      .streams = spec.dropout + spec.drop_path > 0 ? 1 : 0,
  };
  if (spec.bias) one.inputs.push_back(weights({spec.x[-1]}));
  return one;
}

void add_bench(std::vector<Case>& cases, std::int64_t tokens, std::int64_t width, Case::Size size) {
  const double elements = static_cast<double>(tokens * width);
  Case norm = layer_norm_case({tokens, width}, true, 1e-5f, 0);
  norm.name = fmt::format("layer_norm_{}_{}", tokens, width);
  norm.forward.elements = 2 * elements;   // x in, y out
  norm.backward.elements = 3 * elements;  // dy, x in, dx out
  Case sum = add_norm_case({.x = {tokens, width}, .sum = false, .dropout = 0.1f});
  sum.name = fmt::format("add_norm_dropout_{}_{}", tokens, width);
  sum.forward.elements = 4 * elements;   // x, branch in; sum, y out
  sum.backward.elements = 4 * elements;  // dy, sum in; dx, dbranch out
  for (Case* one : {&norm, &sum}) {
    one->size = size;
    cases.push_back(*one);
  }
}

}  // namespace

static void add_norm_cases(std::vector<Case>& cases) {
  for (bool bias : {false, true}) cases.push_back(layer_norm_case({3, 17}, bias, 1e-5f, 0));
  cases.push_back(layer_norm_case({2, 5, 33}, true, 1e-3f, 0));
  cases.push_back(layer_norm_case({4, 24}, true, 1e-5f, 30));  // a mean far from 0: no cancellation
  cases.push_back(layer_norm_case({3, 1}, true, 0.5f, 0));
  cases.push_back(layer_norm_case({0, 17}, true, 1e-5f, 0));
  cases.push_back(layer_norm_case({19}, true, 1e-5f, 0));
  cases.push_back(layer_norm_case({131, 100}, true, 1e-5f, 0));
  cases.push_back(layer_norm_case({3, 1037}, true, 1e-5f, 0));

  for (const auto& [sum, norm] : {std::pair{true, true}, {true, false}, {false, true}}) {
    cases.push_back(add_norm_case({.x = {3, 17}, .sum = sum, .norm = norm}));
    cases.push_back(add_norm_case({.x = {5, 3, 33}, .sum = sum, .norm = norm, .dropout = 0.25f}));
    cases.push_back(add_norm_case({.x = {9, 3, 33}, .sum = sum, .norm = norm, .drop_path = 0.4f}));
  }
  cases.push_back(add_norm_case({.x = {7, 24}, .bias = false}));
  cases.push_back(add_norm_case({.x = {0, 8}}));
  cases.push_back(add_norm_case({.x = {1, 1}}));
  cases.push_back(add_norm_case({.x = {67, 130}, .dropout = 0.1f}));
  cases.push_back(add_norm_case({.x = {2, 1030}}));
  cases.push_back(add_norm_case({.x = {33, 5, 24}, .drop_path = 0.3f}));   // packs of elements
  cases.push_back(add_norm_case({.x = {13, 3, 520}, .drop_path = 0.5f}));  // rows of several packs a lane
  cases.push_back(add_norm_case({.x = {7, 2, 1030}, .drop_path = 0.5f}));

  add_bench(cases, 1024, 512, Case::Size::base);
  add_bench(cases, 65536, 768, Case::Size::large);
}

const CaseList kNormCases("norm", add_norm_cases);

}  // namespace attend::test
