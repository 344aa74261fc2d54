// additive_scores: Bahdanau's network over every pair.
#include <fmt/core.h>

#include <cmath>

#include "attend/ops/additive_attention.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

Case additive_case(std::int64_t batch, std::int64_t queries, std::int64_t keys, std::int64_t width) {
  return {
      .name = fmt::format("additive_scores_{}_{}_{}_{}", batch, queries, keys, width),
      .inputs = {reals({batch, queries, width}), reals({batch, keys, width}), weights({width})},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::additive_scores(in[0], in[1], in[2])}; },
      .reference =
          [=](std::span<const Array> in) {
            Array scores({batch, queries, keys});
            for (std::int64_t b = 0; b < batch; ++b)
              for (std::int64_t t = 0; t < queries; ++t)
                for (std::int64_t s = 0; s < keys; ++s)
                  for (std::int64_t c = 0; c < width; ++c)
                    scores(b, t, s) += in[2](c) * std::tanh(in[0](b, t, c) + in[1](b, s, c));
            return Arrays{scores};
          },
  };
}

}  // namespace

static void add_additive_cases(std::vector<Case>& cases) {
  cases.push_back(additive_case(2, 3, 5, 17));
  cases.push_back(additive_case(1, 1, 1, 1));
  cases.push_back(additive_case(3, 1, 19, 33));
  cases.push_back(additive_case(0, 3, 5, 8));
  cases.push_back(additive_case(2, 0, 5, 8));
  cases.push_back(additive_case(2, 3, 0, 8));
  cases.push_back(additive_case(2, 17, 35, 40));

  Case one = additive_case(32, 30, 30, 1000);  // Bahdanau et al.'s widths
  one.size = Case::Size::base;
  one.forward.flops = 3.0 * 32 * 30 * 30 * 1000;
  one.backward.flops = 2 * one.forward.flops;
  cases.push_back(one);
}

const CaseList kAdditiveCases("additive", add_additive_cases);

}  // namespace attend::test
