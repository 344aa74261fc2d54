// Winograd's transforms of whole tiles: along the columns, then along the rows, a vector of channels at a time.
#include "attend/cpu/rows/winograd.h"

#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

namespace {

template <class Axis>
void transform_input(const float* const* places, std::int64_t channels, float* to, std::int64_t step) {
  constexpr int kPlaces = Axis::kPlaces;
  each(channels, [&](std::int64_t c, auto part) {
    Vec columns[kPlaces * kPlaces];
#pragma GCC unroll 6
    for (int j = 0; j < kPlaces; ++j) {
      Vec d[kPlaces];
#pragma GCC unroll 6
      for (int i = 0; i < kPlaces; ++i) d[i] = load(places[i * kPlaces + j] + c, part);
      Axis::input(d, 1, columns + j, kPlaces);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kPlaces; ++i) {
      Vec v[kPlaces];
      Axis::input(columns + i * kPlaces, 1, v, 1);
#pragma GCC unroll 6
      for (int j = 0; j < kPlaces; ++j) store(to + (i * kPlaces + j) * step + c, v[j], part);
    }
  });
}

template <class Axis>
void transform_output(const float* from, std::int64_t step, std::int64_t channels, float* to, std::int64_t line,
                      std::int64_t pixel) {
  constexpr int kPlaces = Axis::kPlaces, kResults = Axis::kResults;
  each(channels, [&](std::int64_t c, auto part) {
    Vec columns[kResults * kPlaces];
#pragma GCC unroll 6
    for (int j = 0; j < kPlaces; ++j) {
      Vec m[kPlaces];
#pragma GCC unroll 6
      for (int i = 0; i < kPlaces; ++i) m[i] = load(from + (i * kPlaces + j) * step + c, part);
      Axis::output(m, 1, columns + j, kPlaces);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kResults; ++i) {
      Vec y[kResults];
      Axis::output(columns + i * kPlaces, 1, y, 1);
#pragma GCC unroll 4
      for (int j = 0; j < kResults; ++j) store(to + i * line + j * pixel + c, y[j], part);
    }
  });
}

}  // namespace

void set_winograd(RowKernels& table) {
  table.winograd_input[0] = transform_input<TwoResults>;
  table.winograd_input[1] = transform_input<FourResults>;
  table.winograd_output[0] = transform_output<TwoResults>;
  table.winograd_output[1] = transform_output<FourResults>;
}

}  // namespace attend::cpu::ATTEND_ROWS
