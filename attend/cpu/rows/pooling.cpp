// One result of pooling: the maximum or the mean over the places of its window, a vector of channels at a time.
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

namespace {

// take(vector, place) for each place of the window, where place counts as PoolWindow::index does.
template <class E, class Cover, class Take>
ATTEND_INLINE void each_place(const PoolWindow& args, std::int64_t c, Cover part, Take&& take) {
  const E* row = static_cast<const E*>(args.x) + c;
  for (std::int64_t h = 0; h < args.rows; ++h, row += args.line * args.channels)
    for (std::int64_t w = 0; w < args.columns; ++w)
      take(load(row + w * args.channels, part), static_cast<std::int32_t>(args.first + h * args.line + w));
}

// A NaN wins, as it would in a sum.
template <class E>
void pool_max_window(const PoolWindow& args) {
  E* y = static_cast<E*>(args.y);
  each(args.channels, [&](std::int64_t c, auto part) {
    Vec best = splat(-kInfinity);
    IntVec where = IntVec{} + static_cast<std::int32_t>(args.first);
    const auto better = [&](Vec v) { return (v > best) | ((v != v) & (best == best)); };
    if (args.index == nullptr) {
      each_place<E>(args, c, part, [&](Vec v, std::int32_t) { best = better(v) ? v : best; });
    } else {
      each_place<E>(args, c, part, [&](Vec v, std::int32_t place) {
        const IntVec taken = better(v);
        best = taken ? v : best;
        where = taken ? IntVec{} + place : where;
      });
      store(reinterpret_cast<float*>(args.index) + c, (Vec)where, part);
    }
    store(y + c, best, part);
  });
}

template <class E>
void pool_mean_window(const PoolWindow& args) {
  E* y = static_cast<E*>(args.y);
  each(args.channels, [&](std::int64_t c, auto part) {
    Vec sum = {};
    each_place<E>(args, c, part, [&](Vec v, std::int32_t) { sum += v; });
    store(y + c, sum * args.scale, part);
  });
}

}  // namespace

void set_pooling(RowKernels& table) {
  table.pool_max[0] = pool_max_window<float>, table.pool_max[1] = pool_max_window<Bf16Bits>;
  table.pool_mean[0] = pool_mean_window<float>, table.pool_mean[1] = pool_mean_window<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
