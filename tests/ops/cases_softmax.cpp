// softmax with and without lengths, cross_entropy with smoothing and ignored targets.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "attend/ops/arithmetic.h"
#include "attend/ops/consistency.h"
#include "attend/ops/linear_cross_entropy.h"
#include "attend/ops/softmax.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

Array softmax_reference(const Array& x, const Array* lengths) {
  Array y(x.shape);
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    const std::int64_t seen = lengths ? static_cast<std::int64_t>((*lengths)(r / (x.rows() / x.dim(0)))) : x.width();
    double largest = -INFINITY, sum = 0;
    for (std::int64_t c = 0; c < seen; ++c) largest = std::max(largest, x.at(r, c));
    for (std::int64_t c = 0; c < seen; ++c) sum += std::exp(x.at(r, c) - largest);
    for (std::int64_t c = 0; c < seen; ++c) y.at(r, c) = std::exp(x.at(r, c) - largest) / sum;
  }
  return y;
}

Case softmax_case(const Shape& x, std::vector<std::int32_t> lengths = {}, double range = 3) {
  std::string name = "softmax";
  for (std::int64_t dim : x) name += fmt::format("_{}", dim);
  if (!lengths.empty()) name += "_lengths";
  const bool masked = !lengths.empty();
  Case one{
      .name = name,
      .inputs = {reals(x, -range, range)},
      .run = [masked](std::span<const Tensor> in) { return Tensors{ops::softmax(in[0], masked ? in[1] : Tensor())}; },
      .reference =
          [masked](std::span<const Array> in) { return Arrays{softmax_reference(in[0], masked ? &in[1] : nullptr)}; },
  };
  if (masked) one.inputs.push_back(ints(std::move(lengths)));
  return one;
}

struct LossSpec {
  std::string name;
  Shape logits;
  ops::CrossEntropyOptions options = {};
  std::vector<std::int32_t> targets = {};  // drawn when empty
  bool through_scale = false;              // logits nobody else holds: their gradient takes their place
  bool weighted = false;                   // by class
};

// {mean, losses, {mean, count}}. The mean over no targets is 0.
Arrays loss_reference(const LossSpec& spec, const Array& logits, const Array& targets, const Array& weights = {}) {
  Array mean({1}), losses({logits.rows()}), total({2});
  const std::int64_t classes = logits.width();
  for (std::int64_t r = 0; r < logits.rows(); ++r) {
    const auto target = static_cast<std::int64_t>(targets[r]);
    if (target == spec.options.ignore) continue;
    double largest = -INFINITY, sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) largest = std::max(largest, logits.at(r, c));
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(logits.at(r, c) - largest);
    const double lse = largest + std::log(sum), smoothing = spec.options.smoothing;
    for (std::int64_t c = 0; c < classes; ++c) {
      const double wanted = smoothing / static_cast<double>(classes) + (c == target ? 1 - smoothing : 0);
      losses(r) += wanted * (lse - logits.at(r, c));
    }
    const double weight = spec.weighted ? weights(target) : 1;
    losses(r) *= weight;
    mean(0) += losses(r);
    total(1) += weight;
  }
  if (total(1) > 0) mean(0) /= total(1);
  total(0) = mean(0);
  return {mean, losses, total};
}

Case loss_case(const LossSpec& spec) {
  Shape rows = spec.logits;
  Shape leading;
  for (int i = 0; i + 1 < rows.rank(); ++i) leading.append(rows[i]);
  Input targets = spec.targets.empty() ? ids(leading, spec.logits[-1]) : ints(spec.targets);
  const float factor = spec.through_scale ? 1.5f : 1;
  Case one{
      .name = "cross_entropy_" + spec.name,
      .inputs = {reals(spec.logits, -4, 4), targets},
      .run =
          [spec, factor](std::span<const Tensor> in) {
            ops::CrossEntropyOptions options = spec.options;
            if (spec.weighted) options.class_weights = in[2];
            const auto loss = spec.through_scale ? ops::cross_entropy(ops::scale(in[0], factor), in[1], options)
                                                 : ops::cross_entropy(in[0], in[1], options);
            return Tensors{loss.mean, loss.losses, loss.total};
          },
      .reference =
          [spec, factor](std::span<const Array> in) {
            Array logits = in[0];
            for (double& value : logits.values) value *= factor;
            return loss_reference(spec, logits, in[1], spec.weighted ? in[2] : Array());
          },
      .differentiable = 1,
  };
  if (spec.weighted) {
    one.inputs.push_back(fixed({spec.logits[-1]}, 0.1, 2));
    one.inputs.back().keeps_f32 = true;
  }
  return one;
}

// The same from the states before the output layer; logits says how many rows and classes there are.
Case output_case(const LossSpec& spec, std::int64_t width, bool bias, std::int64_t chunk_bytes = 1 << 30) {
  const std::int64_t rows = spec.logits[0], classes = spec.logits[1];
  Case one{
      .name = "linear_cross_entropy_" + spec.name,
      .inputs = {reals({rows, width}, -2, 2), weights({classes, width}),
                 spec.targets.empty() ? ids({rows}, classes) : ints(spec.targets)},
      .run =
          [=](std::span<const Tensor> in) {
            const auto loss =
                ops::linear_cross_entropy(in[0], in[1], bias ? in[3] : Tensor(), in[2], spec.options, chunk_bytes);
            return Tensors{loss.mean, loss.losses, loss.total};
          },
      .reference =
          [=](std::span<const Array> in) {
            Array logits({rows, classes});
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t c = 0; c < classes; ++c) {
                logits(r, c) = bias ? in[3](c) : 0;
                for (std::int64_t i = 0; i < width; ++i) logits(r, c) += in[0](r, i) * in[1](c, i);
              }
            return loss_reference(spec, logits, in[2]);
          },
      .differentiable = 1,
  };
  if (bias) one.inputs.push_back(weights({classes}));
  return one;
}

// KL(p, q) + KL(q, p) from its definition.
Case consistency_case(std::int64_t rows, std::int64_t classes) {
  return {
      .name = fmt::format("consistency_{}_{}", rows, classes),
      .inputs = {reals({2 * rows, classes}, -3, 3)},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::consistency(in[0])}; },
      .reference =
          [rows, classes](std::span<const Array> in) {
            const Array p = softmax_reference(in[0], nullptr);
            Array mean({1});
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t c = 0; c < classes; ++c) {
                const double a = p.at(r, c), b = p.at(rows + r, c);
                mean(0) += (a * std::log(a / b) + b * std::log(b / a)) / static_cast<double>(rows);
              }
            return Arrays{mean};
          },
  };
}

void add_bench(std::vector<Case>& cases, Case::Size size, std::int64_t rows, std::int64_t classes, float smoothing) {
  Case one = loss_case({.name = fmt::format("{}_{}", rows, classes),
                        .logits = {rows, classes},
                        .options = {.smoothing = smoothing},
                        .through_scale = true});
  one.size = size;
  const double elements = static_cast<double>(rows * classes);
  one.forward.elements = elements + 2 * elements;       // read once; and the scale in front
  one.backward.elements = 2 * elements + 2 * elements;  // read and written in place; and the scale in front
  cases.push_back(one);
}

}  // namespace

static void add_softmax_cases(std::vector<Case>& cases) {
  cases.push_back(softmax_case({3, 17}));
  cases.push_back(softmax_case({1, 1}));
  cases.push_back(softmax_case({0, 5}));
  cases.push_back(softmax_case({33}));
  cases.push_back(softmax_case({2, 3, 130}, {}, 30));  // far apart: the largest must be taken off first
  cases.push_back(softmax_case({2, 1037}));
  cases.push_back(softmax_case({3, 2, 17}, {17, 1, 9}));
  cases.push_back(softmax_case({4, 33}, {0, 33, 16, 5}));

  cases.push_back(loss_case({.name = "3_17", .logits = {3, 17}}));
  cases.push_back(loss_case({.name = "smoothing", .logits = {2, 5, 33}, .options = {.smoothing = 0.1f}}));
  cases.push_back(loss_case({.name = "ignore", .logits = {5, 19}, .targets = {3, -100, 18, 0, -100}}));
  cases.push_back(loss_case({.name = "ignore_pad",
                             .logits = {5, 19},
                             .options = {.smoothing = 0.1f, .ignore = 1},
                             .targets = {3, 1, 18, 0, 1}}));
  cases.push_back(loss_case({.name = "all_ignored", .logits = {3, 7}, .targets = {-100, -100, -100}}));
  cases.push_back(loss_case({.name = "class_weights", .logits = {2, 5, 33}, .weighted = true}));
  cases.push_back(loss_case({.name = "class_weights_ignore",
                             .logits = {5, 1100},
                             .targets = {3, -100, 1099, 0, -100},
                             .through_scale = true,
                             .weighted = true}));
  cases.push_back(loss_case({.name = "one_class", .logits = {2, 1}}));
  cases.push_back(loss_case({.name = "no_rows", .logits = {0, 9}}));
  cases.push_back(loss_case({.name = "wide", .logits = {5, 1037}, .options = {.smoothing = 0.1f}}));
  cases.push_back(loss_case({.name = "in_place", .logits = {7, 33}, .through_scale = true}));
  cases.push_back(loss_case({.name = "in_place_ignore",
                             .logits = {4, 70},
                             .options = {.smoothing = 0.2f},
                             .targets = {-100, 5, 69, -100},
                             .through_scale = true}));

  cases.push_back(output_case({.name = "3_17", .logits = {3, 17}}, 8, false));
  cases.push_back(
      output_case({.name = "smoothing_bias", .logits = {10, 33}, .options = {.smoothing = 0.1f}}, 24, true));
  cases.push_back(output_case({.name = "ignore", .logits = {5, 19}, .targets = {3, -100, 18, 0, -100}}, 9, true));
  cases.push_back(output_case({.name = "all_ignored", .logits = {2, 7}, .targets = {-100, -100}}, 8, true));
  cases.push_back(output_case({.name = "no_rows", .logits = {0, 9}}, 8, true));
  cases.push_back(output_case({.name = "wide", .logits = {3, 1037}, .options = {.smoothing = 0.1f}}, 8, false));
  // 128 rows at a time, and a rest.
  cases.push_back(output_case({.name = "chunks", .logits = {300, 5}}, 4, true, 1024));

  cases.push_back(consistency_case(3, 17));
  cases.push_back(consistency_case(1, 2));

  add_bench(cases, Case::Size::base, 1024, 37000, 0.1f);
  add_bench(cases, Case::Size::large, 16384, 50304, 0);
  for (const auto& [size, rows, width] : {std::tuple{Case::Size::base, 8192, 128}, {Case::Size::large, 262144, 1024}}) {
    Case one = softmax_case({rows, width});
    one.size = size;
    one.forward.elements = 2.0 * rows * width;
    one.backward.elements = 3.0 * rows * width;
    cases.push_back(one);
  }
}

const CaseList kSoftmaxCases("softmax", add_softmax_cases);

}  // namespace attend::test
