// matmul: plain and batched, every transposition, a factor in front, operands that are windows.
#include <fmt/core.h>

#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

struct MatmulSpec {
  std::int64_t batch = 0;  // 0: no batch axis
  std::int64_t m = 1, n = 1, k = 1;
  ops::MatmulOptions options = {};
};

Shape with_batch(std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  return batch ? Shape{batch, rows, columns} : Shape{rows, columns};
}

Array matmul_reference(const MatmulSpec& spec, const Array& a, const Array& b) {
  const auto [ta, tb, alpha] = spec.options;
  const std::int64_t m = spec.m, n = spec.n, k = spec.k;
  Array c(with_batch(spec.batch, m, n));
  for (std::int64_t z = 0; z < std::max<std::int64_t>(spec.batch, 1); ++z)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += a[z * m * k + (ta ? l * m + i : i * k + l)] * b[z * k * n + (tb ? j * k + l : l * n + j)];
        c[(z * m + i) * n + j] = alpha * sum;
      }
  return c;
}

Case matmul_case(const MatmulSpec& spec) {
  const auto& options = spec.options;
  std::string name = fmt::format("matmul_{}_{}_{}", spec.m, spec.n, spec.k);
  if (spec.batch) name += fmt::format("_batch_{}", spec.batch);
  if (options.transpose_a) name += "_ta";
  if (options.transpose_b) name += "_tb";
  if (options.alpha != 1) name += "_alpha";
  return {
      .name = name,
      .inputs = {reals(options.transpose_a ? with_batch(spec.batch, spec.k, spec.m)
                                           : with_batch(spec.batch, spec.m, spec.k)),
                 reals(options.transpose_b ? with_batch(spec.batch, spec.n, spec.k)
                                           : with_batch(spec.batch, spec.k, spec.n))},
      .run = [options](std::span<const Tensor> in) { return Tensors{ops::matmul(in[0], in[1], options)}; },
      .reference = [spec](std::span<const Array> in) { return Arrays{matmul_reference(spec, in[0], in[1])}; },
  };
}

// Both operands are halves of one tensor [M, 2·K]: a aᵀ of its left and right side.
Case window_case(std::int64_t m, std::int64_t k) {
  return {
      .name = fmt::format("matmul_of_windows_{}_{}", m, k),
      .inputs = {reals({m, 2 * k})},
      .run =
          [](std::span<const Tensor> in) {
            const auto [left, right] = ops::split<2>(in[0]);
            return Tensors{ops::matmul(left, right, {.transpose_b = true})};
          },
      .reference =
          [m, k](std::span<const Array> in) {
            Array c({m, m});
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < m; ++j)
                for (std::int64_t l = 0; l < k; ++l) c(i, j) += in[0](i, l) * in[0](j, k + l);
            return Arrays{c};
          },
  };
}

}  // namespace

static void add_matmul_cases(std::vector<Case>& cases) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      cases.push_back(matmul_case({.m = 3, .n = 17, .k = 33, .options = {.transpose_a = ta, .transpose_b = tb}}));
      cases.push_back(matmul_case(
          {.batch = 3, .m = 5, .n = 7, .k = 18, .options = {.transpose_a = ta, .transpose_b = tb, .alpha = -0.5f}}));
      cases.push_back(matmul_case({.m = 67, .n = 130, .k = 129, .options = {.transpose_a = ta, .transpose_b = tb}}));
    }
  cases.push_back(matmul_case({.m = 1, .n = 1, .k = 1}));
  cases.push_back(matmul_case({.m = 4, .n = 0, .k = 5}));
  cases.push_back(matmul_case({.m = 4, .n = 3, .k = 0}));  // an empty sum is 0
  cases.push_back(matmul_case({.batch = 2, .m = 33, .n = 48, .k = 65, .options = {.transpose_b = true}}));
  cases.push_back(matmul_case({.m = 1, .n = 300, .k = 96, .options = {.alpha = 3}}));
  cases.push_back(matmul_case({.m = 300, .n = 1, .k = 37}));
  cases.push_back(window_case(9, 17));
  cases.push_back(window_case(40, 64));

  Case one = matmul_case({.batch = 8, .m = 256, .n = 256, .k = 64, .options = {.transpose_b = true}});
  one.name = "matmul_batch_8_256_256_64";
  one.size = Case::Size::base;
  one.forward.flops = 2.0 * 8 * 256 * 256 * 64;
  one.backward.flops = 2 * one.forward.flops;
  cases.push_back(one);
}

const CaseList kMatmulCases("matmul", add_matmul_cases);

}  // namespace attend::test
