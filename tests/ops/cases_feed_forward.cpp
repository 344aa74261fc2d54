// feed_forward: both projections and the activation between them, both weight layouts, sizes of several tiles.
#include <fmt/core.h>

#include <cmath>

#include "attend/ops/feed_forward.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

struct FeedForwardSpec {
  Shape x;  // [.., I]
  std::int64_t hidden = 1, out = 1;
  Activation activation = Activation::relu;
  bool input_major = false;
};

Array projected(const Array& x, const Array& weight, const Array& bias, bool input_major) {
  Array y(x.shape.with_last(bias.size()));
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t o = 0; o < bias.size(); ++o) {
      y.at(r, o) = bias(o);
      for (std::int64_t i = 0; i < x.width(); ++i)
        y.at(r, o) += x.at(r, i) * (input_major ? weight(i, o) : weight(o, i));
    }
  return y;
}

Case feed_forward_case(const FeedForwardSpec& spec) {
  const auto shape = [&](std::int64_t in, std::int64_t out) {
    return spec.input_major ? Shape{in, out} : Shape{out, in};
  };
  std::string name = "feed_forward";
  for (std::int64_t dim : spec.x) name += fmt::format("_{}", dim);
  name += fmt::format("_{}_{}_{}{}", spec.hidden, spec.out, name_of(spec.activation),
                      spec.input_major ? "_input_major" : "");
  // Sums of many products: the inner ones small, so that the activation's bend is met.
  const double inner = 3 / std::sqrt(static_cast<double>(spec.x[-1]));
  return {
      .name = name,
      .inputs = {reals(spec.x), weights(shape(spec.x[-1], spec.hidden), -inner, inner), weights({spec.hidden}),
                 weights(shape(spec.hidden, spec.out)), weights({spec.out})},
      .run =
          [spec](std::span<const Tensor> in) {
            return Tensors{ops::feed_forward(in[0], {in[1], in[2]}, {in[3], in[4]},
                                             {.activation = spec.activation, .input_major = spec.input_major})};
          },
      .reference =
          [spec](std::span<const Array> in) {
            Array hidden = projected(in[0], in[1], in[2], spec.input_major);
            for (double& x : hidden.values) x = activate(x, spec.activation);
            return Arrays{projected(hidden, in[3], in[4], spec.input_major)};
          },
      .slack = 2,
  };
}

}  // namespace

static void add_feed_forward_cases(std::vector<Case>& cases) {
  for (bool input_major : {false, true}) {
    for (Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
      cases.push_back(feed_forward_case({{2, 3, 17}, 33, 5, activation, input_major}));
    // Hopper's kernel takes these: rows and columns that end within a tile, more than one step along the depth.
    for (Activation activation : {Activation::gelu, Activation::gelu_tanh})
      cases.push_back(feed_forward_case({{260, 72}, 104, 72, activation, input_major}));
    cases.push_back(
        feed_forward_case({{260, 24}, 16, 72, Activation::relu, input_major}));  // few that are near its kink
  }
  cases.push_back(feed_forward_case({{0, 8}, 16, 8}));
  cases.push_back(feed_forward_case({{1, 1}, 1, 1, Activation::gelu}));
}

const CaseList kFeedForwardCases("feed_forward", add_feed_forward_cases);

}  // namespace attend::test
