// Batch norm, with what ends it (a sum with a residual, an activation), and group norm.
#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "attend/ops/image_norm.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

constexpr double kEps = static_cast<double>(1e-5f);

// A batch norm has all rows as one image, and a group a channel.
Array norm_reference(const Array& x, const Array* weight, const Array* bias, std::int64_t images, std::int64_t groups) {
  Array y(x.shape);
  const std::int64_t C = x.width(), N = images > 0 ? x.rows() / images : 0, D = C / groups;
  for (std::int64_t a = 0; a < images; ++a)
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto over = [&](auto&& each) {
        for (std::int64_t n = 0; n < N; ++n)
          for (std::int64_t c = g * D; c < (g + 1) * D; ++c) each(a * N + n, c);
      };
      const auto count = static_cast<double>(N * D);
      double mean = 0, variance = 0;
      over([&](std::int64_t r, std::int64_t c) { mean += x.at(r, c) / count; });
      over([&](std::int64_t r, std::int64_t c) { variance += std::pow(x.at(r, c) - mean, 2) / count; });
      over([&](std::int64_t r, std::int64_t c) {
        y.at(r, c) =
            (x.at(r, c) - mean) / std::sqrt(variance + kEps) * (weight ? (*weight)(c) : 1) + (bias ? (*bias)(c) : 0);
      });
    }
  return y;
}

Case group_norm_case(const Shape& x, std::int64_t groups, bool affine, double offset = 0) {
  Case one{
      .name = with_shape("group_norm", x) + fmt::format("_g{}", groups) + (affine ? "" : "_plain") +
              (offset != 0 ? "_offset" : ""),
      .inputs = {reals(x, offset - 2, offset + 2)},
      .run = [groups, affine](std::span<const Tensor> in) -> Tensors {
        return {ops::group_norm(in[0], affine ? in[1] : Tensor(), affine ? in[2] : Tensor(), groups)};
      },
      .reference =
          [groups, affine](std::span<const Array> in) {
            return Arrays{
                norm_reference(in[0], affine ? &in[1] : nullptr, affine ? &in[2] : nullptr, in[0].dim(0), groups)};
          },
  };
  if (affine) one.inputs.push_back(weights({x[-1]}, 0.5, 1.5)), one.inputs.push_back(weights({x[-1]}));
  return one;
}

// How a batch norm ends, and what its statistics are.
struct BatchNormSetup {
  Shape x;
  double offset = 0;  // of x, from a mean of 0
  Activation activation = Activation::none;
  bool residual = false, frozen = false, affine = true;
  bool learns = true;  // weight and bias
};

std::string name_of(const BatchNormSetup& setup) {
  std::string name = with_shape(setup.frozen ? "batch_norm_frozen" : "batch_norm", setup.x);
  if (setup.offset != 0) name += "_offset";
  if (!setup.affine) name += "_plain";
  if (!setup.learns) name += "_fixed";
  if (setup.residual) name += "_residual";
  if (setup.activation != Activation::none) name += fmt::format("_{}", name_of(setup.activation));
  return name;
}

// Inputs: x, weight, bias (if affine), mean, variance (if frozen), residual (if there is one).
Case batch_norm_case(const BatchNormSetup& setup) {
  const Shape channels{setup.x[-1]};
  Case one{.name = name_of(setup), .inputs = {reals(setup.x, setup.offset - 2, setup.offset + 2)}, .run = {}};
  if (setup.affine) {
    // Some weights are negative: the slope of a relu then has the other sign.
    one.inputs.push_back(setup.learns ? weights(channels, -1.5, 1.5) : fixed(channels, -1.5, 1.5));
    one.inputs.push_back(setup.learns ? weights(channels) : fixed(channels));
  }
  if (setup.frozen) {
    Input mean = fixed(channels), variance = fixed(channels, 0.5, 2);
    mean.keeps_f32 = variance.keeps_f32 = true;
    one.inputs.push_back(mean), one.inputs.push_back(variance);
  }
  if (setup.residual) one.inputs.push_back(reals(setup.x));
  const std::size_t statistics = setup.affine ? 3 : 1;
  one.run = [setup, statistics](std::span<const Tensor> in) {
    const Tensor none;
    return Tensors{ops::batch_norm(
        in[0], setup.affine ? in[1] : none, setup.affine ? in[2] : none,
        setup.frozen ? ops::RunningStatistics{in[statistics], in[statistics + 1]} : ops::RunningStatistics{},
        {.frozen = setup.frozen}, setup.activation, setup.residual ? in.back() : none)};
  };
  one.reference = [setup, statistics](std::span<const Array> in) {
    const Array *weight = setup.affine ? &in[1] : nullptr, *bias = setup.affine ? &in[2] : nullptr;
    Array y = norm_reference(in[0], weight, bias, 1, in[0].width());
    for (std::int64_t r = 0; r < y.rows(); ++r)
      for (std::int64_t c = 0; c < y.width(); ++c) {
        if (setup.frozen)
          y.at(r, c) = (in[0].at(r, c) - in[statistics](c)) / std::sqrt(in[statistics + 1](c) + kEps) *
                           (weight ? (*weight)(c) : 1) +
                       (bias ? (*bias)(c) : 0);
        if (setup.residual) y.at(r, c) += in.back().at(r, c);
        y.at(r, c) = activate(y.at(r, c), setup.activation);
      }
    return Arrays{y};
  };
  return one;
}

// The residual is x itself, so that both of its gradients meet.
Case batch_norm_of_residual_case() {
  return {
      .name = "batch_norm_3_5_16_of_its_residual_relu",
      .inputs = {reals({3, 5, 16}), weights({16}, 0.5, 1.5), weights({16})},
      .run =
          [](std::span<const Tensor> in) {
            return Tensors{ops::batch_norm(in[0], in[1], in[2], {}, {}, Activation::relu, in[0])};
          },
      .reference =
          [](std::span<const Array> in) {
            Array y = norm_reference(in[0], &in[1], &in[2], 1, 16);
            for (std::int64_t i = 0; i < y.size(); ++i) y[i] = activate(y[i] + in[0][i], Activation::relu);
            return Arrays{y};
          },
  };
}

}  // namespace

static void add_image_norm_cases(std::vector<Case>& cases) {
  cases.push_back(group_norm_case({2, 3, 4, 6}, 2, true));
  cases.push_back(group_norm_case({2, 3, 4, 6}, 1, true));
  cases.push_back(group_norm_case({2, 3, 4, 6}, 6, false));  // instance norm
  cases.push_back(group_norm_case({3, 5, 40}, 8, true, 30));
  cases.push_back(group_norm_case({0, 3, 4, 6}, 2, true));

  cases.push_back(batch_norm_case({.x = {2, 3, 4, 6}}));
  cases.push_back(batch_norm_case({.x = {7, 33}, .offset = 30}));
  cases.push_back(batch_norm_case({.x = {3, 9, 11, 4}}));
  cases.push_back(batch_norm_case({.x = {2, 3, 4, 6}, .frozen = true}));
  // Odd widths, whole packs of 16 bytes, more of them than a block of threads is wide, and more places than it is long.
  for (const Shape& x : {Shape{2, 3, 5, 7}, Shape{3, 9, 11, 16}, Shape{19, 72}, Shape{2, 3, 1032}, Shape{1, 37, 41, 8}})
    for (const bool frozen : {false, true})
      for (const bool residual : {false, true})
        for (const Activation kind : {Activation::none, Activation::relu})
          if (residual || kind == Activation::relu)
            cases.push_back(batch_norm_case({.x = x, .activation = kind, .residual = residual, .frozen = frozen}));
  // So many places that the GPU adds its partial sums in rows of threads.
  cases.push_back(batch_norm_case({.x = {2, 71, 67, 8}, .activation = Activation::relu, .residual = true}));
  const Shape x{2, 3, 5, 24};
  for (const bool residual : {false, true}) {
    cases.push_back(batch_norm_case({.x = x, .offset = 30, .activation = Activation::relu, .residual = residual}));
    cases.push_back(batch_norm_case({.x = x, .activation = Activation::gelu, .residual = residual}));
    cases.push_back(batch_norm_case({.x = x, .activation = Activation::relu, .residual = residual, .affine = false}));
    for (const bool frozen : {false, true})
      for (const Activation kind : {Activation::none, Activation::relu})
        cases.push_back(
            batch_norm_case({.x = x, .activation = kind, .residual = residual, .frozen = frozen, .learns = false}));
  }
  cases.push_back(
      batch_norm_case({.x = {0, 3, 4, 6}, .activation = Activation::relu, .residual = true, .frozen = true}));
  cases.push_back(batch_norm_of_residual_case());
}

const CaseList kImageNormCases("image_norm", add_image_norm_cases);

}  // namespace attend::test
