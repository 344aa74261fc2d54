// Sums and maxima down columns and along rows.
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

// y [width] = scale · the sum over n rows. Four vectors of columns stay in registers while the rows go by.
template <class E, class Y>
void reduce_sum_columns(const ReduceColumns& args) {
  const E* x = static_cast<const E*>(args.x);
  Y* y = static_cast<Y*>(args.y.data);
  constexpr int kAtOnce = 4 * kLanes;
  std::int64_t c = 0;
  for (; c + kAtOnce <= args.width; c += kAtOnce) {
    Vec sum[4] = {};
    for (std::int64_t row = 0; row < args.n; ++row)
      for (int u = 0; u < 4; ++u) sum[u] += load(x + row * args.stride + c + u * kLanes);
    for (int u = 0; u < 4; ++u) {
      Vec v = sum[u] * args.scale;
      if (args.y.accumulate) v += load(y + c + u * kLanes);
      store(y + c + u * kLanes, v);
    }
  }
  each(args.width - c, [&](std::int64_t i, auto part) {
    Vec sum = {};
    for (std::int64_t row = 0; row < args.n; ++row) sum += load(x + row * args.stride + c + i, part);
    Vec v = sum * args.scale;
    if (args.y.accumulate) v += load(y + c + i, part);
    store(y + c + i, v, part);
  });
}

// The maximum of each column and the first row where it stands; a NaN wins, as it would in a sum.
template <class E>
void reduce_max_columns(const ReduceColumns& args) {
  const E* x = static_cast<const E*>(args.x);
  E* y = static_cast<E*>(args.y.data);
  each(args.width, [&](std::int64_t i, auto part) {
    Vec best = splat(-kInfinity);
    IntVec where = {};
    for (std::int64_t row = 0; row < args.n; ++row) {
      const Vec v = load(x + row * args.stride + i, part);
      const IntVec better = (v > best) | ((v != v) & (best == best));
      best = better ? v : best;
      where = better ? IntVec{} + static_cast<std::int32_t>(row) : where;
    }
    if (args.index) store(reinterpret_cast<float*>(args.index) + i, (Vec)where, part);
    if (args.y.accumulate) best += load(y + i, part);
    store(y + i, best, part);
  });
}

template <class E>
float sum_row(const void* x_, std::int64_t n) {
  const E* x = static_cast<const E*>(x_);
  Vec sum[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (int u = 0; u < 4; ++u) sum[u] += load(x + i + u * kLanes);
  each(n - i, [&](std::int64_t j, auto part) { sum[0] += load(x + i + j, part); });
  return sum_of((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

template <class E>
void sum_chunks_columns(const float* partial, std::int64_t chunks, std::int64_t stride, Out y_, std::int64_t n) {
  E* y = static_cast<E*>(y_.data);
  each(n, [&](std::int64_t i, auto part) {
    Vec sum = load(partial + i, part);
    for (std::int64_t chunk = 1; chunk < chunks; ++chunk) sum += load(partial + chunk * stride + i, part);
    if (y_.accumulate) sum += load(y + i, part);
    store(y + i, sum, part);
  });
}

void set_columns(RowKernels& table) {
  table.reduce_sum[0][0] = reduce_sum_columns<float, float>;
  table.reduce_sum[0][1] = reduce_sum_columns<float, Bf16Bits>;
  table.reduce_sum[1][0] = reduce_sum_columns<Bf16Bits, float>;
  table.reduce_sum[1][1] = reduce_sum_columns<Bf16Bits, Bf16Bits>;
  table.reduce_max[0] = reduce_max_columns<float>, table.reduce_max[1] = reduce_max_columns<Bf16Bits>;
  table.row_sum[0] = sum_row<float>, table.row_sum[1] = sum_row<Bf16Bits>;
  table.sum_chunks[0] = sum_chunks_columns<float>, table.sum_chunks[1] = sum_chunks_columns<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
