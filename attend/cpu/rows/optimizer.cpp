// AdamW (Loshchilov & Hutter 2019), SGD with momentum, and the norm of a gradient, over flat buffers.
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

// Four sums per lane, then over the lanes in double: a call takes some ten thousand numbers.
double sum_of_squares_row(const float* x, std::int64_t n) {
  Vec sum[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (int u = 0; u < 4; ++u) {
      const Vec v = load(x + i + u * kLanes);
      sum[u] += v * v;
    }
  each(n - i, [&](std::int64_t j, auto part) {
    const Vec v = load(x + i + j, part);
    sum[0] += v * v;
  });
  double total = 0;
  for (int u = 0; u < 4; ++u)
    for (int lane = 0; lane < kLanes; ++lane) total += static_cast<double>(sum[u][lane]);
  return total;
}

template <class E>
void adamw_rows(const AdamRows& args, std::int64_t begin, std::int64_t end) {
  E* value = static_cast<E*>(args.value);
  const float step = args.rate / args.correction1, shrink = 1.0f - args.rate * args.decay;
  const float inverse2 = 1.0f / args.correction2;
  const float rest1 = 1.0f - args.beta1, rest2 = 1.0f - args.beta2;
  each(end - begin, [&](std::int64_t offset, auto part) {
    const std::int64_t i = begin + offset;
    const Vec g = load(args.gradient + i, part) * args.clip;
    const Vec m = load(args.m + i, part) * args.beta1 + g * rest1;
    const Vec v = load(args.v + i, part) * args.beta2 + g * g * rest2;
    const Vec w = load(args.master + i, part) * shrink - step * m / (square_root(v * inverse2) + args.eps);
    store(args.m + i, m, part);
    store(args.v + i, v, part);
    store(args.master + i, w, part);
    if (value) store(value + i, w, part);
  });
}

template <class E>
void sgd_rows(const SgdRows& args, std::int64_t begin, std::int64_t end) {
  E* value = static_cast<E*>(args.value);
  each(end - begin, [&](std::int64_t offset, auto part) {
    const std::int64_t i = begin + offset;
    const Vec old = load(args.master + i, part);
    const Vec g = load(args.gradient + i, part) * args.clip + old * args.decay;
    Vec d = g;
    if (args.velocity) {
      d += load(args.velocity + i, part) * args.momentum;
      store(args.velocity + i, d, part);
      if (args.nesterov) d = g + d * args.momentum;
    }
    const Vec w = old - args.rate * d;
    store(args.master + i, w, part);
    if (value) store(value + i, w, part);
  });
}

void set_optimizer(RowKernels& table) {
  table.sum_of_squares = sum_of_squares_row;
  table.adamw[0] = adamw_rows<float>, table.adamw[1] = adamw_rows<Bf16Bits>;
  table.sgd[0] = sgd_rows<float>, table.sgd[1] = sgd_rows<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
